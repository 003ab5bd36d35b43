package lsp_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/uri"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// Texts that are no file: URIs make no folder of the workspace; the other spellings of a file's scheme and host do.
func TestOddFolders(t *testing.T) {
	m := agenttest.NewModel()
	e, _ := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	upper, host := t.TempDir(), t.TempDir()
	var added []map[string]string
	for _, u := range []string{
		"bad", "relative/x", "", "http://x/y", "untitled:Untitled-1",
		"FILE://" + filepath.ToSlash(upper), "file://localhost" + filepath.ToSlash(host),
	} {
		added = append(added, map[string]string{"uri": u, "name": "x"})
	}
	e.Notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{"added": added, "removed": []any{}}})
	var info struct{ Folders []string }
	e.MustCall("agent/session/new", map[string]any{}, &info)
	if want := []string{string(uri.File(upper)), string(uri.File(host))}; len(info.Folders) != 3 || !slices.Equal(info.Folders[1:], want) {
		t.Errorf("folders %q, want one and %q", info.Folders, want)
	}
	if err := e.Call("agent/tool/list", map[string]any{"sessionId": "nope"}, nil); err == nil || !strings.Contains(err.Error(), "there is no session") {
		t.Errorf("tools of a session that is not there: %v", err)
	}
	if err := e.Call("workspace/executeCommand", map[string]any{"command": "redline.accept", "arguments": []any{5}}, nil); err == nil || strings.Contains(err.Error(), "unmarshal") || !strings.Contains(err.Error(), "arguments[0]") {
		t.Errorf("a wrong argument: %v", err)
	}
}
