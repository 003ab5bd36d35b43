package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/workspace"
)

// GoogleWebSearch is the tool google_web_search.
var GoogleWebSearch = define(Spec{
	Name:        "google_web_search",
	DisplayName: "GoogleSearch",
	Kind:        KindFetch,
	Description: `Searches the web with Google and returns an answer with numbered sources.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"query":{"type":"string","description":"What to find out, as a question or keywords."}},
"required":["query"]}`),
}, prepareGoogleWebSearch)

type googleWebSearchParams struct {
	Query string `json:"query"`
}

func prepareGoogleWebSearch(_ *workspace.View, p googleWebSearchParams) (*Call, error) {
	query := strings.TrimSpace(p.Query)
	if query == "" {
		return nil, errors.New("the query is empty")
	}
	return &Call{Title: fmt.Sprintf("%q", query), RunWeb: func(ctx context.Context, m Grounder) (*Result, error) {
		g, err := m.Search(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("the web search failed: %w", err)
		}
		if strings.TrimSpace(g.Text) == "" {
			return &Result{Text: fmt.Sprintf("No search results or information found for query: %q", query), Display: "No information found"}, nil
		}
		return &Result{
			Text:    fmt.Sprintf("Web search results for %q:\n\n%s", query, untrusted("Google Search", g.cited())),
			Display: fmt.Sprintf("Found %d sources", len(g.Sources)),
		}, nil
	}}, nil
}
