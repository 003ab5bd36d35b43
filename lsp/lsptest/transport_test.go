package lsptest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"redline/lsp/lsptest"
	"redline/lsp/rpc"
)

// agent is a server on the real transport that, prompted, streams events, asks
// for approval and edits a file.
func agent(patience time.Duration) lsptest.Server {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		conn := rpc.NewConn(rpc.Pair(io.NopCloser(in), nopWriteCloser{out}), rpc.Options{})
		r := rpc.NewRouter()
		docs := map[string]int32{}
		rpc.Handle(r, "initialize", rpc.Inline, func(context.Context, *protocol.InitializeParams) (any, error) {
			return map[string]any{"capabilities": map[string]any{"textDocumentSync": 2, "positionEncoding": "utf-16"}}, nil
		})
		rpc.HandleNotify(r, "textDocument/didOpen", rpc.Inline, func(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
			docs[string(p.TextDocument.URI)] = p.TextDocument.Version
			return nil
		})
		rpc.HandleNotify(r, "textDocument/didChange", rpc.Inline, func(_ context.Context, p *protocol.DidChangeTextDocumentParams) error {
			docs[string(p.TextDocument.URI)] = p.TextDocument.Version
			return nil
		})
		rpc.Handle(r, "agent/prompt", rpc.Inline, func(ctx context.Context, p *struct {
			URI string `json:"uri"`
		},
		) (map[string]any, error) {
			version := docs[p.URI] // as of this place in the order
			rpc.Release(ctx)
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			seq := 0
			event := func(typ string) {
				seq++
				_ = conn.Notify(context.WithoutCancel(ctx), "agent/event", map[string]any{
					"sessionId": "s", "seq": seq, "event": map[string]any{"type": typ},
				})
			}
			event("turn/started")
			defer event("turn/ended")
			var choice struct {
				OptionID string `json:"optionId"`
			}
			if err := conn.Call(ctx, "agent/approve", map[string]any{"options": []any{
				map[string]string{"optionId": "yes", "kind": "once"}, map[string]string{"optionId": "no", "kind": "reject"},
			}}, &choice); err != nil {
				return nil, err
			}
			var res protocol.ApplyWorkspaceEditResult
			err := conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Edit: protocol.WorkspaceEdit{
				DocumentChanges: []protocol.DocumentChange{
					&protocol.TextDocumentEdit{
						TextDocument: protocol.OptionalVersionedTextDocumentIdentifier{
							TextDocumentIdentifier: protocol.TextDocumentIdentifier{URI: uri.URI(p.URI)}, Version: &version,
						},
						Edits: []protocol.TextDocumentEditElement{&protocol.TextEdit{NewText: "redline "}},
					},
				},
			}}, &res)
			return map[string]any{"choice": choice.OptionID, "applied": res.Applied}, err
		})
		conn.Go(ctx, r)
		return conn.Wait()
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// TestTransport runs the server's transport under each editor.
func TestTransport(t *testing.T) {
	for _, p := range []lsptest.Personality{lsptest.VSCode(), lsptest.Neovim010(), lsptest.Neovim012(), lsptest.Eglot().WithPlugin()} {
		t.Run(p.Name, func(t *testing.T) {
			p.Encodings = []string{lsptest.UTF16}
			e := lsptest.NewEditor(t, agent(time.Minute), lsptest.Options{
				Personality: &p, Files: map[string]string{"a.txt": "text"},
				Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve("once")},
			})
			e.Open("a.txt")
			e.Type("a.txt", lsptest.Position{Character: 4}, "!")
			var res struct {
				Choice  string
				Applied bool
			}
			e.MustCall("agent/prompt", map[string]any{"uri": lsptest.URI(e.Path("a.txt"))}, &res)
			if res.Choice != "yes" || !res.Applied || e.Text("a.txt") != "redline text!" {
				t.Errorf("%+v, text %q", res, e.Text("a.txt"))
			}
			e.WaitEvent(lsptest.OfType("turn/ended"))
			if err := e.Shutdown(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTransportFaults checks that the transport copes with editors that do not answer.
func TestTransportFaults(t *testing.T) {
	for _, fault := range []lsptest.Fault{lsptest.Silent, lsptest.Late} {
		p := lsptest.VSCode().WithFault(fault)
		e := lsptest.NewEditor(t, agent(30*time.Millisecond), lsptest.Options{Personality: &p})
		err := e.Call("agent/prompt", map[string]any{"uri": "file:///x"}, nil)
		var re *lsptest.ResponseError
		if !errors.As(err, &re) || !strings.Contains(re.Message, "agent/approve") {
			t.Errorf("fault %v: %v", fault, err)
		}
		e.WaitNotification("$/cancelRequest", nil)
		e.WaitEvent(lsptest.OfType("turn/ended"))
	}
	p := lsptest.VSCode().WithFault(lsptest.Vanishes)
	e := lsptest.NewEditor(t, agent(time.Minute), lsptest.Options{Personality: &p, VanishAt: "agent/approve"})
	start := time.Now()
	e.Go("agent/prompt", map[string]any{"uri": "file:///x"})
	if err := e.WaitEnd(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("the server took %v to end", d)
	}
}
