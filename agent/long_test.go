package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools"
	"redline/workspace"
)

// saying is a tool that says something.
type saying struct {
	text string
	fail bool
}

func (s saying) Spec() *tools.Spec {
	return &tools.Spec{Name: "say", DisplayName: "Say", Kind: tools.KindRead, Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (s saying) Prepare(*workspace.View, json.RawMessage) (*tools.Call, error) {
	return &tools.Call{Title: "say", Run: func(context.Context) (*tools.Result, error) {
		if s.fail {
			return nil, errors.New(s.text)
		}
		return &tools.Result{Text: s.text, Display: "said"}, nil
	}}, nil
}

// A long result can be read to its end, page by page, with nothing lost.
func TestLongResults(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		fail, long bool
	}{
		{"short", numbered(10), false, false},
		{"just fits", strings.Repeat("x", 128<<10), false, false},
		{"many lines", numbered(20_000), false, true},
		{"one line", strings.Repeat("äöü", 40_000), false, true},
		{"an error", numbered(20_000), true, true},
		{"broken characters", strings.Repeat("ab\xff\n", 40_000), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			say := agenttest.Step{Calls: []agenttest.Call{{Name: "say", Args: map[string]any{}}}}
			b := newBench(t, agent.Options{Tools: tools.NewRegistry(tools.ReadFile, saying{c.text, c.fail})}, say, agenttest.Step{Text: []string{"ok"}})
			b.turn("x")
			r := b.m.Responses(1)[0]
			got := r.Output + r.Error
			if !c.long {
				if got != c.text {
					t.Errorf("a short result was changed: %d bytes", len(got))
				}
				return
			}
			if (r.Error != "") != c.fail || len(got) > 129<<10 || !utf8.ValidString(got) {
				t.Errorf("the model is told %d bytes, error %v", len(got), r.Error != "")
			}
			m := regexp.MustCompile(`is in (\S+); read on with read_file, offset (\d+) and limit (\d+)`).FindStringSubmatch(got)
			if m == nil {
				t.Fatalf("no way to read on: %s", got[len(got)-300:])
			}
			all := got[:strings.LastIndex(got, "[Lines ")]
			offset, _ := strconv.Atoi(m[2])
			limit, _ := strconv.Atoi(m[3])
			for range 1000 {
				*b.m = *agenttest.NewModel(agenttest.Step{Calls: []agenttest.Call{{Name: "read_file", Args: map[string]any{"path": m[1], "offset": offset, "limit": limit}}}}, agenttest.Step{Text: []string{"ok"}})
				b.turn("on")
				r := b.m.Responses(1)[0]
				if r.Error != "" {
					t.Fatal(r.Error)
				}
				head, page, _ := strings.Cut(r.Output, "\n")
				n := regexp.MustCompile(`showing lines \d+-(\d+) of (\d+)`).FindStringSubmatch(head)
				all += page
				if n == nil || n[1] == n[2] {
					break
				}
				offset, _ = strconv.Atoi(n[1])
			}
			whole := strings.ToValidUTF8(c.text, "\ufffd")
			if strings.ReplaceAll(all, "\n", "") != strings.ReplaceAll(whole, "\n", "") {
				t.Errorf("read %d bytes of %d", len(all), len(whole))
			}
			b.s.Close()
			if _, err := os.Stat(m[1]); err == nil {
				t.Error("the file is still there")
			}
		})
	}
}
