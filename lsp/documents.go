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
	mu   sync.Mutex
	dir  string // made when it is first needed
	temp bool   // dir is gone with the server
	diff string // the file with the difference that is shown
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
	case d.diff != "":
		_ = os.Remove(d.diff)
	}
}

// show opens a document in the editor, or says where it is.
func (s *Server) show(ctx context.Context, file string, focus bool) error {
	if !s.client.showDoc {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: open "+file)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var res protocol.ShowDocumentResult
	err := s.conn.Call(ctx, "window/showDocument", &protocol.ShowDocumentParams{URI: uri.File(file), TakeFocus: &focus}, &res)
	if err != nil || !res.Success {
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: open "+file)
	}
	return nil
}

// showDiff opens the unified diff of p in the editor, without taking the focus. There
// is one such file; a newer difference takes the place of the one before.
func (s *Server) showDiff(ctx context.Context, p *workspace.Proposal) error {
	dir, err := s.folder()
	if err != nil {
		return err
	}
	text := s.encoder().unified(p, func(h *workspace.Hunk) bool { return h.State == workspace.Pending })
	file := filepath.Join(dir, fmt.Sprintf("proposal-%d.diff", os.Getpid()))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	s.docs.mu.Lock()
	s.docs.diff = file
	s.docs.mu.Unlock()
	return s.show(ctx, file, false)
}

// commandShowDiff shows the difference of the open proposal that is named, or of the
// only or oldest one.
func (s *Server) commandShowDiff(_ context.Context, a commandArgs) (any, error) {
	for _, p := range s.openProposals() {
		if a.ProposalID != "" && p.ID != a.ProposalID {
			continue
		}
		s.background(func(ctx context.Context) {
			if err := s.showDiff(ctx, p); err != nil {
				s.showMessage(ctx, protocol.MessageTypeWarning, "Redline: "+err.Error())
			}
		})
		return nil, nil
	}
	return nil, rpc.Failed("there is no open proposal")
}
