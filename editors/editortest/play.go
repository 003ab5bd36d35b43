package editortest

import "testing"

// Editor is a real editor, used as a person would: each method ends when what it asked for
// is seen, and fails the test when that does not happen. File names are relative to the workspace,
// with slashes; lines are 1-based.
type Editor interface {
	Open(file string)
	// Type makes text of a line, by keys or as the editor would, and does not save.
	Type(file string, line int, text string)
	Ask(prompt string)
	// Review waits until n undecided hunks are shown.
	Review(n int)
	Accept(file string, line int)
	// Reject rejects a hunk; an editor that cannot give a reason leaves it out.
	Reject(file string, line int, reason string)
	Amend(file string, line int, text string)
	AcceptAll()
	// Idle waits for the end of the turn.
	Idle()
	Undo(file string)
	Save(file string)
	// Line returns a line as the editor has it, saved or not.
	Line(file string, line int) string
}

// Play has the person's part done in e.
func (r *Replay) Play(t testing.TB, e Editor) {
	t.Helper()
	for _, a := range r.Person {
		t.Logf("%s:%s", r.file, a)
		switch a.Verb {
		case "open":
			e.Open(a.File)
		case "type":
			e.Type(a.File, a.At, a.Text)
		case "ask":
			e.Ask(r.Prompt)
		case "review":
			e.Review(a.At)
		case "accept":
			e.Accept(a.File, a.At)
		case "reject":
			e.Reject(a.File, a.At, a.Text)
		case "amend":
			e.Amend(a.File, a.At, a.Text)
		case "all":
			e.AcceptAll()
		case "idle":
			e.Idle()
		case "undo":
			e.Undo(a.File)
		case "save":
			e.Save(a.File)
		case "shows":
			if got := e.Line(a.File, a.At); got != a.Text {
				t.Errorf("%s: %s:%d shows %q, want %q", r.file, a.File, a.At, got, a.Text)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}
