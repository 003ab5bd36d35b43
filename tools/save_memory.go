package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"redline/workspace"
	"redline/workspace/diff"
)

// memoryHeading is the section of GEMINI.md that facts go to, as in Gemini CLI.
const memoryHeading = "## Gemini Added Memories"

// maxFact is the longest fact that is taken, in bytes.
const maxFact = 2000

// SaveMemory returns the tool save_memory, which proposes to add a fact to the
// user's GEMINI.md at the absolute path file. That file is the only one outside of
// the workspace that any tool proposes to change.
func SaveMemory(file string) Tool {
	return define(Spec{
		Name:        "save_memory",
		DisplayName: "Memory",
		Kind:        KindOther,
		Description: `Saves a fact about the user for all later sessions, such as a preference, in one short sentence; the user reviews it. ` +
			`Only when the user asks to remember something or states a lasting preference; never for facts about the project or this conversation.`,
		Schema: json.RawMessage(`{"type":"object","properties":{
"fact":{"type":"string","description":"The fact, one sentence that can be understood by itself."}},
"required":["fact"]}`),
	}, func(v *workspace.View, p saveMemoryParams) (*Call, error) {
		fact := strings.Join(strings.Fields(p.Fact), " ") // one line: it must not open a section
		fact = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1 // such as terminal escapes
			}
			return r
		}, fact)
		fact = strings.TrimSpace(strings.TrimLeft(fact, "-*+# "))
		switch {
		case fact == "":
			return nil, errors.New("the fact is empty")
		case len(fact) > maxFact:
			return nil, fmt.Errorf("the fact has more than %d bytes; say it in one sentence", maxFact)
		}
		return &Call{
			Title: "Remember: " + fact, Locations: []Location{{Path: file}},
			Run: func(context.Context) (*Result, error) { return remember(v, file, fact) },
		}, nil
	})
}

type saveMemoryParams struct {
	Fact string `json:"fact"`
}

func remember(v *workspace.View, file, fact string) (*Result, error) {
	done := "Okay, I've remembered that: " + fact
	f, err := v.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Result{Change: &Change{Create: &NewFile{file, memoryHeading + "\n- " + fact + "\n"}, Done: done, Ask: true}}, nil
	}
	if err != nil {
		return nil, readError(file, err)
	}
	edit, found := memoryEdit(f.Text, fact)
	if found {
		return &Result{Text: "This is remembered already.", Display: "Known already"}, nil
	}
	return &Result{Change: &Change{File: f, Edits: []workspace.Edit{edit}, Done: done, Ask: true}}, nil
}

// memoryEdit returns what adds a fact to a GEMINI.md: a line at the end of its
// section, which is made at the end when it is not there. found says that the fact
// is in the section already.
func memoryEdit(t, fact string) (edit workspace.Edit, found bool) {
	eol := "\n"
	if strings.Contains(t, "\r\n") {
		eol = "\r\n"
	}
	inside, at := false, -1 // at: after the last line of the section that holds something
	for pos := 0; pos < len(t); {
		n := diff.NextLine(t[pos:])
		line := strings.TrimRight(t[pos:pos+n], "\r\n \t")
		pos += n
		switch {
		case line == memoryHeading:
			inside, at = true, pos
		case strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## "):
			inside = false
		case inside && line == "- "+fact:
			return workspace.Edit{}, true
		case inside && line != "":
			at = pos
		}
	}
	item := "- " + fact + eol
	before := ""
	switch {
	case at >= 0:
		if at > 0 && !strings.HasSuffix(t[:at], "\n") && !strings.HasSuffix(t[:at], "\r") {
			before = eol
		}
	default:
		at = len(t)
		item = memoryHeading + eol + item
		if t != "" {
			before = eol
			if !strings.HasSuffix(t, "\n") {
				before += eol
			}
		}
	}
	return workspace.Edit{Start: at, End: at, New: before + item}, false
}
