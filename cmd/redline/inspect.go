package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"redline/agent/record"
	"redline/tools/secret"
)

// maxInspected bounds a line of a file that is inspected, in bytes.
const maxInspected = 256 << 20

// runInspect shows a trace or a recording as Markdown.
func runInspect(_ context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline inspect", flag.ContinueOnError)
	full := fs.Bool("full", false, "do not shorten texts")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Usage:\n  redline inspect [--full] FILE    a file of --trace or --record, as Markdown\n")
		fs.PrintDefaults()
	}
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() != 1 {
		fs.Usage()
		return exitUsage
	}
	f, err := os.Open(fs.Arg(0))
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	defer f.Close()
	out := bufio.NewWriter(std.out)
	x := &inspection{out: out, full: *full, redact: new(secret.Redactor)}
	err = x.read(f)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		return fail(std, exitFailed, "%s: %v", fs.Arg(0), err)
	}
	return exitOK
}

// inspection writes Markdown while it reads.
type inspection struct {
	out    io.Writer
	full   bool
	redact *secret.Redactor
	seen   int    // contents of the conversation that have been shown
	prompt string // the turn that is being shown
	found  bool
}

func (x *inspection) read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxInspected)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		if err := x.line(in.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	if !x.found {
		return fmt.Errorf("no exchange with a model and no event of a session is in it")
	}
	return nil
}

// line shows a line of a recording, or what of a trace tells about the turn.
func (x *inspection) line(raw []byte) error {
	var t traceLine
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	switch {
	case t.Direction == "model":
		raw = t.Message
	case t.Direction != "":
		x.message(t)
		return nil
	}
	var l record.Line
	if err := json.Unmarshal(raw, &l); err != nil {
		return fmt.Errorf("is no line of a recording: %w", err)
	}
	switch l.Kind {
	case record.KindHeader:
	case record.KindRequest:
		x.request(l)
	case record.KindResponse:
		x.response(l)
	default:
		return fmt.Errorf("is of neither a trace nor a recording")
	}
	return nil
}

func (x *inspection) printf(format string, args ...any) { fmt.Fprintf(x.out, format, args...) }

func (x *inspection) request(l record.Line) {
	x.found = true
	if l.Request == nil {
		x.printf("\n### Request %d: %s\n", l.N, l.Method)
		return
	}
	if p := l.Request.PromptID; p != x.prompt {
		x.prompt = p
		x.printf("\n# Turn %s\n", p)
	}
	x.printf("\n## Request %d to %s (%s, %d contents)\n", l.N, l.Request.Model, l.Method, len(l.Request.Contents))
	contents := l.Request.Contents
	if x.seen > len(contents) {
		x.seen = 0 // another conversation, or a shorter one
	}
	for _, c := range contents[x.seen:] {
		if c.Role != "user" && x.seen > 0 {
			continue // shown when it came
		}
		x.printf("\n**%s**\n", c.Role)
		for _, p := range c.Parts {
			x.part(p)
		}
	}
	x.seen = len(contents)
}

func (x *inspection) response(l record.Line) {
	x.printf("\n### Answer %d, after %d ms\n", l.N, l.DurationMS)
	text, thought := "", ""
	flush := func() {
		if thought != "" {
			x.printf("\n> %s\n", strings.ReplaceAll(x.cut(strings.TrimSpace(thought)), "\n", "\n> "))
		}
		if text != "" {
			x.printf("\n%s\n", x.cut(text))
		}
		text, thought = "", ""
	}
	for _, c := range l.Chunks {
		for _, p := range c.Parts {
			switch v := p.Value(); {
			case v.Thought:
				thought += v.Text
			case v.Text != "":
				text += v.Text
			default:
				flush()
				x.part(p)
			}
		}
		if c.FinishReason != "" {
			flush()
			x.printf("\n*%s", c.FinishReason)
			if u := c.Usage; u != nil {
				x.printf(", %d tokens in (%d cached), %d out", u.PromptTokenCount, u.CachedContentTokenCount, u.CandidatesTokenCount)
			}
			x.printf("*\n")
		}
	}
	flush()
	if l.Tokens > 0 {
		x.printf("\n%d tokens\n", l.Tokens)
	}
	if len(l.Models) > 0 {
		x.printf("\n%d models\n", len(l.Models))
	}
	if e := l.Error; e != nil {
		x.printf("\n**Error** (%s): %s\n", e.Kind, e.Message)
	}
}

// part shows a part of a message.
func (x *inspection) part(p interface{ MarshalJSON() ([]byte, error) }) {
	raw, err := p.MarshalJSON()
	if err != nil {
		return
	}
	var v struct {
		Text         string
		FunctionCall *struct {
			Name string
			Args json.RawMessage
		}
		FunctionResponse *struct {
			Name     string
			Response map[string]any
		}
		InlineData *struct {
			MIMEType string `json:"mimeType"`
		}
	}
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	switch {
	case v.FunctionCall != nil:
		x.printf("\n→ `%s`\n%s", v.FunctionCall.Name, x.fence("json", string(v.FunctionCall.Args)))
	case v.FunctionResponse != nil:
		for _, k := range sortedKeys(v.FunctionResponse.Response) {
			x.printf("\n← `%s` %s\n%s", v.FunctionResponse.Name, k, x.fence("", fmt.Sprint(v.FunctionResponse.Response[k])))
		}
	case v.InlineData != nil:
		x.printf("\n[%s]\n", v.InlineData.MIMEType)
	case v.Text != "":
		x.printf("\n%s\n", x.cut(v.Text))
	}
}

// message shows of the protocol what a turn is made of.
func (x *inspection) message(t traceLine) {
	var m struct {
		Method string
		Params struct {
			Text  string
			Event struct {
				Type, Status, Name, Title, Text string
				Error                           struct{ Kind, Message string }
				Proposal                        struct{ Title, State, Diff string }
			}
		}
	}
	if json.Unmarshal(t.Message, &m) != nil {
		return
	}
	ev := m.Params.Event
	switch {
	case m.Method == "agent/prompt":
		x.found = true
		x.printf("\n---\n\n**Prompt**: %s\n", x.cut(m.Params.Text))
	case m.Method != "agent/event":
	case ev.Type == "proposal/updated":
		x.printf("\n*Proposal %q is %s*\n", ev.Proposal.Title, ev.Proposal.State)
		if ev.Proposal.State == "open" && ev.Proposal.Diff != "" {
			x.printf("%s", x.fence("diff", ev.Proposal.Diff))
		}
	case ev.Type == "tool/updated" && (ev.Status == "completed" || ev.Status == "failed" || ev.Status == "rejected" || ev.Status == "cancelled"):
		x.printf("\n*%s (%s) %s*\n", ev.Name, ev.Title, ev.Status)
	case ev.Type == "turn/ended":
		x.found = true
		x.printf("\n*The turn ended: %s %s*\n", ev.Status, ev.Error.Message)
	}
}

// fence returns text as a code block that nothing in it can end.
func (x *inspection) fence(language, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return fmt.Sprintf("\n%s%s\n%s\n%s\n", mark, language, strings.TrimRight(x.cut(text), "\n"), mark)
}

func (x *inspection) cut(s string) string {
	const most = 2000
	if s = x.redact.Text(s); x.full || len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("\n… (%d bytes more; --full shows them)", len(s)-most)
}
