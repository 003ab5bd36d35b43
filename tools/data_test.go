package tools_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"redline/tools"
	"redline/workspace"
)

var update = flag.Bool("update", false, "write what the tools do now into testdata")

// TestData plays testdata/*.txtar. Such a file begins with lines that set up what
// an archive cannot hold (see setup). Its files up to the first "call" make the
// workspace. After that it holds calls, "TOOL JSON" on the first line, each
// followed by what came of it: output, error, command, web (needs the model), or diff (with what the model is told
// once the edit is in place). Edits stay staged for the calls after them, as in one
// step. $ROOT stands for the workspace.
func TestData(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if strings.HasSuffix(file, "unreadable.txtar") && os.Geteuid() == 0 {
				asNobody(t, file) // to whom permissions mean something
				return
			}
			check(t, file)
		})
	}
}

// check plays one file.
func check(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := len(a.Files)
	for i, f := range a.Files {
		if strings.HasPrefix(f.Name, "call") {
			n = i
			break
		}
	}
	root := t.TempDir()
	ws, err := workspace.New(root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, ws, a.Files[:n])
	setup(t, root, string(a.Comment))
	home := t.TempDir()
	reg := tools.NewRegistry(append(tools.Builtin(), tools.SaveMemory(filepath.Join(home, "GEMINI.md")))...)
	view := workspace.NewView(ws.Snapshot())

	played := &txtar.Archive{Comment: a.Comment, Files: a.Files[:n:n]}
	for _, f := range a.Files[n:] {
		if !strings.HasPrefix(f.Name, "call") {
			continue
		}
		line, _, _ := strings.Cut(string(f.Data), "\n")
		name, args, _ := strings.Cut(line, " ")
		kind, text := play(t, reg, view, name, strings.ReplaceAll(args, "$ROOT", root))
		text = strings.ReplaceAll(strings.ReplaceAll(text, root, "$ROOT"), home, "$HOME")
		played.Files = append(played.Files, f, txtar.File{Name: kind, Data: []byte(strings.TrimRight(text, "\n") + "\n")})
	}
	got := txtar.Format(played)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(txtar.Format(a)), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// play makes one call and says what came of it.
func play(t *testing.T, reg *tools.Registry, view *workspace.View, name, args string) (kind, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // none may hang
	defer cancel()
	call, err := reg.Prepare(view, name, json.RawMessage(args))
	if err != nil {
		return "error", err.Error()
	}
	if call.RunWeb != nil {
		text := call.Title
		if p := call.Permission; p != nil {
			text += "\nneeds " + p.Subject + " " + strings.Join(p.Keys, " ")
		}
		return "web", text
	}
	res, err := call.Run(ctx)
	if err != nil {
		return "error", err.Error()
	}
	if c := res.Command; c != nil {
		return "command", fmt.Sprintf("%s\nin %s, background %v, for %q", c.Line, c.Dir, c.Background, c.Description)
	}
	if res.Change == nil {
		for _, m := range res.Media {
			res.Text += "\n[" + m.MIMEType + ", " + strconv.Itoa(len(m.Data)) + " bytes]"
		}
		if res.Display == "" {
			t.Errorf("%s %s: nothing to show to the user", name, args)
		}
		return "output", res.Text
	}
	if err := res.Change.Stage(view, name); err != nil {
		return "error", err.Error()
	}
	p := view.Propose()
	if p == nil {
		return "diff", res.Change.Done
	}
	// The file of this call only: what earlier ones staged was seen with them.
	p.Files = slices.DeleteFunc(p.Files, func(f *workspace.FileChange) bool { return f.Path != res.Change.Path() })
	diff := p.Unified(
		func(path string) string { return strings.TrimPrefix(view.Rel(path), "/") },
		func(*workspace.Hunk) bool { return true })
	return "diff", res.Change.Done + "\n" + visible(diff)
}

// visible marks what an archive read by people hides.
func visible(s string) string {
	s = strings.NewReplacer("\r", "␍", "\x00", "␀").Replace(s)
	return strings.ToValidUTF8(s, "\ufffd")
}

// write makes the files of the workspace; those below "open/" are only in the
// editor, and are there in place of the ones on disk.
func write(t *testing.T, root string, ws *workspace.Workspace, files []txtar.File) {
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.Name, "open/"); ok {
			path := filepath.Join(root, name)
			ws.Put(&workspace.Document{Key: workspace.Key(path), URI: "file://" + path, Path: path, Version: 3, Text: string(f.Data)})
			continue
		}
		put(t, filepath.Join(root, f.Name), f.Data)
	}
}

func put(t *testing.T, path string, data []byte) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	// Orders by time must not depend on how fast this runs.
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// setup carries out the lines of an archive's comment:
//
//	dir NAME              makes a folder
//	link NAME TARGET      makes a symbolic link
//	bytes NAME "…"        writes bytes in Go's notation; so is every NAME
//	repeat NAME N "…"     writes bytes N times
//	sparse NAME SIZE      makes a file of that many zero bytes
//	fifo NAME             makes a FIFO
//	newer NAME            changes the time of a file to a minute after the others
//	device NAME MAJ MIN   makes a character device, where the system lets it
//	unreadable NAME       takes the permissions away; does nothing for root
//	readonly NAME         lets nobody change a folder
//	# …                   is a comment
func setup(t *testing.T, root string, comment string) {
	for line := range strings.Lines(comment) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word == "#" {
			continue
		}
		arg := func() (s string) {
			rest = strings.TrimSpace(rest)
			if q, err := strconv.QuotedPrefix(rest); err == nil {
				rest = rest[len(q):]
				if s, err = strconv.Unquote(q); err != nil {
					t.Fatal(err)
				}
				return s
			}
			s, rest, _ = strings.Cut(rest, " ")
			return s
		}
		path := filepath.Join(root, arg())
		var err error
		switch word {
		case "dir":
			err = os.MkdirAll(path, 0o755)
		case "link":
			err = os.Symlink(arg(), path)
		case "bytes":
			put(t, path, []byte(arg()))
		case "repeat":
			n, _ := strconv.Atoi(arg())
			put(t, path, []byte(strings.Repeat(arg(), n)))
		case "sparse":
			size, _ := strconv.ParseInt(arg(), 10, 64)
			put(t, path, nil)
			err = os.Truncate(path, size)
		case "fifo":
			err = makeFIFO(t, path)
		case "newer":
			at := time.Date(2026, 1, 2, 3, 5, 5, 0, time.UTC)
			err = os.Chtimes(path, at, at)
		case "device":
			major, _ := strconv.Atoi(arg())
			minor, _ := strconv.Atoi(arg())
			makeDevice(t, path, major, minor)
		case "unreadable":
			err = os.Chmod(path, 0)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				t.Cleanup(func() { _ = os.Chmod(path, 0o755) }) // so that it can be removed
			}
		case "readonly":
			err = os.Chmod(path, 0o555)
			t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
		default:
			t.Fatalf("unknown line %q", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
