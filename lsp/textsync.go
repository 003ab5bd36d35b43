package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/workspace"
)

// keyOf returns the workspace's key and path for a document's URI.
func keyOf(u string) (key, path string) {
	if path, ok := pathOf(u); ok {
		return workspace.Key(path), path
	}
	return u, ""
}

// didOpenParams is DidOpenTextDocumentParams with the URI as the client spells it: the
// protocol package escapes it anew, and a client may know a document by one spelling
// only.
type didOpenParams struct {
	TextDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId"`
		Version    int32  `json:"version"`
		Text       string `json:"text"`
	} `json:"textDocument"`
}

func (s *Server) didOpen(_ context.Context, p *didOpenParams) error {
	u := strings.Clone(p.TextDocument.URI)
	key, path := keyOf(u)
	s.ws.Put(&workspace.Document{
		Key: key, URI: u, Path: path, Version: p.TextDocument.Version,
		Language: strings.Clone(p.TextDocument.LanguageID), Text: strings.Clone(p.TextDocument.Text),
	})
	s.afterOpen(key)
	if s.diffAt(u) != nil {
		s.hint()
	}
	return nil
}

// didChangeParams is DidChangeTextDocumentParams, read strictly: the protocol
// package takes a change with a range it cannot read for one of the whole text.
type didChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range *protocol.Range `json:"range"` // nil: the whole text
		Text  string          `json:"text"`
	} `json:"contentChanges"`
}

func (s *Server) didChange(_ context.Context, p *didChangeParams) error {
	key, _ := keyOf(p.TextDocument.URI)
	if s.client.name == editorHelix {
		return s.inOrder(key, p)
	}
	return s.change(key, p)
}

// change applies a change to the document it is of.
func (s *Server) change(key string, p *didChangeParams) error {
	d, ok := s.ws.Snapshot().DocumentByKey(key)
	if !ok {
		return fmt.Errorf("change of %s, which is not open", p.TextDocument.URI)
	}
	m := s.lines.mapper(d.Text, s.client.encoding)
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			m = newMapper(strings.Clone(c.Text), s.client.encoding)
			continue
		}
		start, end := m.offset(c.Range.Start), m.offset(c.Range.End)
		if end < start {
			return fmt.Errorf("change of %s: the range ends before it starts", p.TextDocument.URI)
		}
		m = m.splice(start, end, c.Text)
	}
	s.lines.keep(m)
	next := *d
	next.Version, next.Text = p.TextDocument.Version, m.text
	s.ws.Put(&next)
	return nil
}

func (s *Server) didClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	key, _ := keyOf(string(p.TextDocument.URI))
	s.forgetHeld(key)
	s.ws.Drop(key)
	return nil
}

func (s *Server) didSave(_ context.Context, p *protocol.DidSaveTextDocumentParams) error {
	s.log.Debug("saved", zap.String("uri", string(p.TextDocument.URI)))
	return nil
}

// foldersParams is DidChangeWorkspaceFoldersParams with the URIs as the client spells them: the protocol package makes
// file: URIs of any text.
type foldersParams struct {
	Event struct {
		Added   []folderRef `json:"added"`
		Removed []folderRef `json:"removed"`
	} `json:"event"`
}

// folderRef is a folder of the workspace as clients name it.
type folderRef struct {
	URI string `json:"uri"`
}

func (s *Server) didChangeFolders(_ context.Context, p *foldersParams) error {
	folders := s.ws.Snapshot().Folders()
	for _, f := range p.Event.Removed {
		if path, ok := pathOf(f.URI); ok {
			folders = slices.DeleteFunc(folders, func(x string) bool { return x == path })
		}
	}
	for _, f := range p.Event.Added {
		if path, ok := pathOf(f.URI); ok && !slices.Contains(folders, path) {
			folders = append(folders, path)
		}
	}
	return s.ws.SetFolders(folders)
}
