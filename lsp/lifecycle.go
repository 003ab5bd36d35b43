package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/workspace"
)

// initialize answers from what the client sent alone: it touches neither network
// nor credentials nor the tree.
func (s *Server) initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.client = declared(p)
	s.setTrace(p.Trace)
	if s.client.trusted != nil {
		s.trustSays(*s.client.trusted)
	}
	if err := s.ws.SetFolders(rootsOf(p)); err != nil {
		s.log.Warn("workspace folders", zap.Error(err))
	}
	yes := true
	change := protocol.TextDocumentSyncKindIncremental
	requests, _ := s.routes().Methods()
	ext := serverExt{Version: extVersion, MinVersion: extVersion}
	for _, m := range requests {
		if strings.HasPrefix(m, "agent/") {
			ext.Methods = append(ext.Methods, m)
		}
	}
	experimental, err := json.Marshal(map[string]serverExt{"redline": ext})
	if err != nil {
		return nil, err
	}
	everyFile := protocol.FileOperationRegistrationOptions{Filters: []protocol.FileOperationFilter{{
		Scheme: ptr("file"), Pattern: protocol.FileOperationPattern{Glob: "**"},
	}}}
	res := &protocol.InitializeResult{ServerInfo: protocol.ServerInfo{Name: "redline", Version: protocol.NewOptional(s.opt.Version)}}
	res.Capabilities = protocol.ServerCapabilities{
		PositionEncoding: s.client.encoding,
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: &yes, Change: &change, Save: &protocol.SaveOptions{},
		},
		CodeActionProvider:     &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
		CodeLensProvider:       &protocol.CodeLensOptions{},
		ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: commandNames()},
		Workspace: &protocol.WorkspaceOptions{
			WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{Supported: &yes, ChangeNotifications: protocol.Boolean(true)},
			FileOperations:   &protocol.FileOperationOptions{DidCreate: everyFile, DidRename: everyFile, DidDelete: everyFile},
		},
		Experimental: protocol.LSPAny(experimental),
	}
	s.opt.Debug.add(s) // from here on nothing of s.client changes
	return res, nil
}

func (s *Server) shutdown(context.Context, *Empty) (*Empty, error) { return nil, nil }

// declared reads the client's capabilities.
func declared(p *protocol.InitializeParams) client {
	name, _, _ := strings.Cut(strings.ToLower(p.ClientInfo.Name), " ")
	c := client{encoding: protocol.PositionEncodingKindUTF16, name: name, oneFile: strings.HasPrefix(p.ClientInfo.Name, "Neovim")}
	caps := p.Capabilities
	if g := caps.General; g != nil && slices.Contains(g.PositionEncodings, protocol.PositionEncodingKindUTF8) {
		c.encoding = protocol.PositionEncodingKindUTF8
	} else if g != nil && slices.Contains(g.PositionEncodings, protocol.PositionEncodingKindUTF32) && !slices.Contains(g.PositionEncodings, protocol.PositionEncodingKindUTF16) {
		c.encoding = protocol.PositionEncodingKindUTF32
	}
	if w := caps.Workspace; w != nil && w.WorkspaceEdit != nil {
		c.annotations = w.WorkspaceEdit.ChangeAnnotationSupport != nil
		c.create = slices.Contains(w.WorkspaceEdit.ResourceOperations, protocol.ResourceOperationKindCreate)
		c.rename = slices.Contains(w.WorkspaceEdit.ResourceOperations, protocol.ResourceOperationKindRename)
		c.remove = slices.Contains(w.WorkspaceEdit.ResourceOperations, protocol.ResourceOperationKindDelete)
	}
	if w := caps.Workspace; w != nil && w.CodeLens != nil {
		c.lensRefresh = w.CodeLens.RefreshSupport != nil && *w.CodeLens.RefreshSupport
	}
	if w := caps.Window; w != nil {
		c.progress = w.WorkDoneProgress != nil && *w.WorkDoneProgress
		c.showDoc = w.ShowDocument != nil && w.ShowDocument.Support || c.name == editorHelix // 25.01 can, but does not say so
	}
	var exp struct {
		Redline *clientExt `json:"redline"`
	}
	if len(caps.Experimental) > 0 && json.Unmarshal(caps.Experimental, &exp) == nil && exp.Redline != nil {
		c.knowsUs = true
		c.proposals = exp.Redline.Proposals != nil
		c.changes = c.proposals && exp.Redline.Proposals.Changes != nil
		c.ask = exp.Redline.Ask != nil
		c.approve = exp.Redline.Approve != nil
		c.trusted = exp.Redline.Trusted
		c.save = exp.Redline.Editor.Save != nil
		c.editor = exp.Redline.Editor
	}
	return c
}

// rootsOf returns the folders that the client opened, as paths.
func rootsOf(p *protocol.InitializeParams) []string {
	var out []string
	if fs, ok := p.WorkspaceFolders.Get(); ok {
		for _, f := range fs {
			if path, ok := pathOf(string(f.URI)); ok {
				out = append(out, path)
			}
		}
	}
	//lint:ignore SA1019 older editors send nothing else
	if root := p.RootURI; len(out) == 0 && root != nil {
		if path, ok := pathOf(string(*root)); ok {
			out = append(out, path)
		}
	}
	//lint:ignore SA1019 older editors send nothing else
	if root, ok := p.RootPath.Get(); ok && len(out) == 0 && root != "" {
		out = append(out, root)
	}
	return out
}

// pathOf returns the path of a file: URI; ok is false for any other scheme, and for text without one.
func pathOf(raw string) (path string, ok bool) {
	const scheme = "file:"
	if len(raw) < len(scheme) || !strings.EqualFold(raw[:len(scheme)], scheme) {
		return "", false
	}
	rest := raw[len(scheme):]
	if after, ok := strings.CutPrefix(rest, "//localhost/"); ok {
		rest = "///" + after
	}
	u, err := uri.ParseStrict(scheme + rest)
	if err != nil {
		return "", false
	}
	return u.FsPath(), true
}

// placeOf is [pathOf] for what may also be a document that was never saved, which is
// known by its URI.
func placeOf(raw string) (path string, ok bool) {
	if workspace.Untitled(raw) {
		return raw, true
	}
	return pathOf(raw)
}

func ptr[T any](v T) *T { return &v }
