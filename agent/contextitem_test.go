package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
	"redline/workspace"
)

// Each kind of context reaches the model, with what it points to read as the editor
// shows it.
func TestContextItems(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n0000")
	for name, tt := range map[string]struct {
		item agent.ContextItem
		want string
	}{
		"selection with text":    {agent.ContextItem{Kind: "selection", Path: "a.txt", FromLine: 2, ToLine: 2, Text: "tw"}, "[selection a.txt, lines 2-2]\n```\ntw\n```"},
		"selection without":      {agent.ContextItem{Kind: "selection", Path: "a.txt", FromLine: 2, ToLine: 3}, "[selection a.txt, lines 2-3]\n```\ntwo\nthree\n```"},
		"selection past the end": {agent.ContextItem{Kind: "selection", Path: "a.txt", FromLine: 9, ToLine: 9}, "[selection a.txt, lines 9-9: the file has only 3 lines]"},
		"symbol":                 {agent.ContextItem{Kind: "symbol", Path: "a.txt", FromLine: 1}, "[symbol a.txt, lines 1-1]\n```\none\n```"},
		"file":                   {agent.ContextItem{Kind: "file", Path: "a.txt"}, "[file a.txt]\n```\none\ntwo\nthree\n```"},
		"file in the editor":     {agent.ContextItem{Kind: "file", Path: "open.txt"}, "[file open.txt]\n````\nnot saved ```\n````"},
		"untitled":               {agent.ContextItem{Kind: "file", URI: "untitled:1"}, "[file untitled:1]\n```\nnowhere\n```"},
		"file that is gone":      {agent.ContextItem{Kind: "file", Path: "gone.txt"}, "[file gone.txt: it cannot be read"},
		"diagnostics":            {agent.ContextItem{Kind: "diagnostics", Path: "a.txt", Text: "2: unused"}, "[diagnostics a.txt]\n```\n2: unused\n```"},
		"diff":                   {agent.ContextItem{Kind: "diff", Text: "-a\n+b\n"}, "[diff]\n```\n-a\n+b\n```"},
		"terminal":               {agent.ContextItem{Kind: "terminal", Text: "exit 1"}, "[terminal]\n```\nexit 1\n```"},
		"url":                    {agent.ContextItem{Kind: "url", URI: "https://example.org/"}, "[url https://example.org/]"},
		"text":                   {agent.ContextItem{Kind: "text", Text: "a ``` b"}, "[text]\n````\na ``` b\n````"},
		"image with data":        {agent.ContextItem{Kind: "image", MIMEType: "image/png", Data: png}, `"mimeType":"image/png"`},
		"image on disk":          {agent.ContextItem{Kind: "image", Path: "p.PNG"}, `"mimeType":"image/png"`},
		"data of unknown type":   {agent.ContextItem{Kind: "image", Data: png}, "[image: its type is not known]"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOver(t, nil, geminitest.Say("ok"))
			if err := os.WriteFile(filepath.Join(o.root, "p.PNG"), png, 0o600); err != nil {
				t.Fatal(err)
			}
			open := filepath.Join(o.root, "open.txt")
			o.ws.Put(&workspace.Document{Key: workspace.Key(open), URI: "file://" + open, Path: open, Text: "not saved ```"})
			o.ws.Put(&workspace.Document{Key: "untitled:1", URI: "untitled:1", Text: "nowhere"})
			if tt.item.Path != "" {
				tt.item.Path = filepath.Join(o.root, tt.item.Path)
			}
			o.turn("look", tt.item)
			last := o.srv.Requests()[0].Last()
			part := last.Parts[len(last.Parts)-1]
			got := string(part.Raw)
			if part.Text != nil {
				got = *part.Text
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
