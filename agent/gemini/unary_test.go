package gemini

import (
	"context"
	"testing"

	"redline/agent/geminitest"
	"redline/agent/googletest"
	"redline/agent/model"
)

// granted is a source of a token that the fake takes.
type granted struct{ srv *googletest.Server }

func (g granted) Token(context.Context, string) (Token, error) {
	return Token{Value: g.srv.Access()}, nil
}

// An answer of Code Assist that is no stream comes out of its envelope too.
func TestCodeAssistUnary(t *testing.T) {
	srv := googletest.New(t, geminitest.New(t, geminitest.Say("Hello.")))
	c, err := New(t.Context(), Options{CodeAssist: true, BaseURL: srv.URL, Tokens: granted{srv}})
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := c.sdk()
	if err != nil {
		t.Fatal(err)
	}
	x, err := newExchange(&model.Request{Contents: []model.Content{model.UserText("hello")}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := sdk.Models.GenerateContent(withExchange(t.Context(), x), "gemini-test", placeholder, nil)
	if err != nil || res.Text() != "Hello." {
		t.Errorf("got %v, %v", res, err)
	}
	if n := len(srv.Seen("/v1internal:generateContent")); n != 1 {
		t.Errorf("%d requests", n)
	}
}
