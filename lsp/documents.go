package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/lsp/rpc"
	"redline/workspace"
)

// documents are the files outside of the workspace that the editor is shown.
type documents struct {
	mu    sync.Mutex
	dir   string          // made when it is first needed
	temp  bool            // dir is gone with the server
	diffs []*diffDocument // that were shown, in that order
	lists []string        // of conversations, that were shown
}

// folder returns where documents are kept.
func (s *Server) folder() (string, error) {
	d := &s.docs
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir != "" {
		return d.dir, nil
	}
	dir := s.opt.Folder
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "redline-")
		d.temp = true
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for documents: %w", err)
	}
	if real, err := workspace.Canonical(dir); err == nil {
		dir = real
	}
	d.dir = dir
	return dir, nil
}

// dropDocuments removes what nobody needs after the connection.
func (s *Server) dropDocuments() {
	d := &s.docs
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.dir == "":
	case d.temp:
		_ = os.RemoveAll(d.dir) // what remains is the system's to clean
	default:
		for _, x := range d.diffs {
			_ = os.Remove(x.file)
		}
		for _, file := range d.lists {
			_ = os.Remove(file)
		}
	}
}

// show opens a document in the editor, or says where it is.
// With the focus it gets the cursor at its line, if that is not 0.
func (s *Server) show(ctx context.Context, file string, focus bool, line int) error {
	if !s.client.showDoc {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: open "+file)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var res protocol.ShowDocumentResult
	p := protocol.ShowDocumentParams{URI: uri.File(file), TakeFocus: &focus}
	if line > 0 {
		at := protocol.Position{Line: uint32(line)}
		p.Selection = &protocol.Range{Start: at, End: at}
	}
	err := s.conn.Call(ctx, "window/showDocument", &p, &res)
	if err != nil || !res.Success {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: open "+file)
	}
	return nil
}

// showDiff opens the unified diff of what is undecided in p in the editor, without
// taking the focus.
func (s *Server) showDiff(ctx context.Context, p *workspace.Proposal) error {
	file, err := s.writeDiff(p)
	if err != nil {
		return err
	}
	return s.show(ctx, file, false, 0)
}

// writeDiff writes the unified diff of what is undecided in p to a file.
func (s *Server) writeDiff(p *workspace.Proposal) (file string, err error) {
	dir, err := s.folder()
	if err != nil {
		return "", err
	}
	diff := s.encoder().newDiffDocument(p)
	s.docs.mu.Lock()
	known := s.docs.diffs
	if n := len(known); n > 0 && known[n-1].proposal == p.ID && known[n-1].text == diff.text {
		diff = known[n-1]
	} else {
		diff.file = filepath.Join(dir, diffName(os.Getpid(), n+1))
		s.docs.diffs = append(known, diff)
	}
	s.docs.mu.Unlock()
	if err := os.WriteFile(diff.file, []byte(diff.text), 0o600); err != nil {
		return "", fmt.Errorf("write the difference: %w", err)
	}
	return diff.file, nil
}

// commandShowDiff shows the difference of the open proposal that is named, or of the
// only or oldest one. It answers where that is, for editors that are to open it by themselves.
func (s *Server) commandShowDiff(_ context.Context, a commandArgs) (any, error) {
	for _, p := range s.openProposals() {
		if a.ProposalID != "" && p.ID != a.ProposalID {
			continue
		}
		file, err := s.writeDiff(p)
		if err != nil {
			return nil, rpc.Failed("%v", err)
		}
		s.background(func(ctx context.Context) { _ = s.show(ctx, file, false, 0) })
		return map[string]string{"uri": string(uri.File(file))}, nil
	}
	return nil, rpc.Failed("there is no open proposal")
}
