package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"redline/tools/web"
	"redline/workspace"
)

// maxFetches is how many pages are fetched at a time.
const maxFetches = 5

// maxURLs is how many pages one call of web_fetch may name.
const maxURLs = 20

// WebFetch returns the tool web_fetch; opt bounds its own fetches, which are the
// fallback where the model's service cannot read a page.
func WebFetch(opt web.Options) Tool {
	return define(Spec{
		Name:        "web_fetch",
		DisplayName: "WebFetch",
		Kind:        KindFetch,
		Description: `Reads web pages: give a prompt with up to 20 http(s) URLs and what to find or do with them. The user may have to approve the hosts.`,
		Schema: json.RawMessage(`{"type":"object","properties":{
"prompt":{"type":"string","description":"The URLs, and what to take from the pages."}},
"required":["prompt"]}`),
		Aliases: map[string]string{"url": "prompt"},
	}, func(_ *workspace.View, p webFetchParams) (*Call, error) { return prepareWebFetch(opt, p) })
}

type webFetchParams struct {
	Prompt string `json:"prompt"`
}

var urlPattern = regexp.MustCompile(`https?://[^\s<>"'` + "`" + `\\^{}|]+`)

// urlsIn returns the http(s) URLs in a text, in order, each once. Signs that end a
// sentence, and a bracket that was opened before the URL, are no part of it.
func urlsIn(text string) []string {
	var out []string
	for _, u := range urlPattern.FindAllString(text, -1) {
		for {
			cut := strings.TrimRight(u, ".,;:!?*")
			for _, pair := range []string{"()", "[]"} {
				if strings.HasSuffix(cut, pair[1:]) && strings.Count(cut, pair[1:]) > strings.Count(cut, pair[:1]) {
					cut = cut[:len(cut)-1]
				}
			}
			if cut == u {
				break
			}
			u = cut
		}
		if p, err := url.Parse(u); err == nil && p.Host != "" && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

func prepareWebFetch(opt web.Options, p webFetchParams) (*Call, error) {
	urls := urlsIn(p.Prompt)
	switch {
	case strings.TrimSpace(p.Prompt) == "":
		return nil, errors.New("the prompt is empty; give the URLs and what to take from the pages")
	case len(urls) == 0:
		return nil, errors.New("there is no URL in the prompt; it must begin with http:// or https://")
	case len(urls) > maxURLs:
		return nil, fmt.Errorf("the prompt has %d URLs; at most %d are read in one call", len(urls), maxURLs)
	}
	var hosts []string
	local := false
	for _, u := range urls {
		local = local || web.Local(u)
		parsed, err := url.Parse(u)
		if err != nil {
			return nil, fmt.Errorf("%q is no URL", u)
		}
		if h := strings.ToLower(parsed.Host); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	if local && !opt.AllowPrivate {
		return nil, errors.New("pages of this machine and of private networks are not fetched; run a command such as curl, which the user can approve, if it is needed")
	}
	return &Call{
		Title:      strings.Join(urls[:min(3, len(urls))], ", "),
		Permission: &Permission{Subject: "network", Keys: hosts, Detail: "Reads from the web:\n\n" + strings.Join(urls, "\n")},
		RunWeb: func(ctx context.Context, m Grounder) (*Result, error) {
			if !local {
				if res := readGrounded(ctx, m, p.Prompt, urls); res != nil {
					return res, nil
				}
			}
			return fetchAll(ctx, opt, urls)
		},
	}, nil
}

// readGrounded has the model's service read the pages; nil when it could not.
func readGrounded(ctx context.Context, m Grounder, prompt string, urls []string) *Result {
	g, err := m.Read(ctx, prompt)
	if err != nil || strings.TrimSpace(g.Text) == "" {
		return nil
	}
	read := 0
	var failed []string
	for _, p := range g.Pages {
		if p.OK {
			read++
		} else {
			failed = append(failed, p.URL+" ("+p.Status+")")
		}
	}
	if read == 0 {
		return nil // it answered from memory
	}
	text := untrusted(strings.Join(urls, " "), g.cited())
	if len(failed) > 0 {
		text += "\nNot read: " + strings.Join(failed, ", ")
	}
	return &Result{Text: text, Display: fmt.Sprintf("Read %d of %d pages", read, len(urls))}
}

// fetchAll fetches the pages here. It fails only when there is not one.
func fetchAll(ctx context.Context, opt web.Options, urls []string) (*Result, error) {
	pages, errs := make([]*web.Page, len(urls)), make([]error, len(urls))
	sem := make(chan struct{}, maxFetches)
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() {
			sem <- struct{}{}
			defer func() { <-sem }()
			pages[i], errs[i] = web.Fetch(ctx, u, opt)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var b strings.Builder
	read := 0
	var problems []string
	for i, page := range pages {
		if errs[i] != nil {
			problems = append(problems, errs[i].Error())
			continue
		}
		read++
		if page.Cut {
			page.Text += "\n[the page is longer than is read]"
		}
		b.WriteString(untrusted(page.URL, page.Text) + "\n")
	}
	if read == 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	for _, p := range problems {
		b.WriteString("Not read: " + p + "\n")
	}
	return &Result{Text: strings.TrimSuffix(b.String(), "\n"), Display: fmt.Sprintf("Fetched %d of %d pages", read, len(urls))}, nil
}
