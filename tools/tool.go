// Package tools is what the model may call: the contract of a tool, the registry,
// and the built-in tools, one file each with the text the model reads beside it.
//
// A tool never writes a file, runs a command or talks to an editor. It reads a
// view of the workspace and returns data: text or media for the model, and for a
// tool that edits, the change it wants. Whoever called it decides what happens.
package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"redline/workspace"
)

// Kind groups tools for the user interface (WIRE.md, tool/updated).
type Kind string

// The kinds of tools.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindFetch   Kind = "fetch"
	KindThink   Kind = "think" // shows the user something, does nothing
	KindOther   Kind = "other"
)

// Spec says what a tool is.
type Spec struct {
	Name        string // what the model calls
	DisplayName string // what the user sees
	Kind        Kind
	Description string          // for the model
	Schema      json.RawMessage // JSON schema of the parameters, an object
	// Aliases maps other names of parameters to the ones in Schema. A name that
	// maps to "" is accepted and dropped; one that maps to itself is passed on, though
	// Schema, and so the model, does not know it.
	Aliases map[string]string
	// Lenient passes on parameters that Schema does not name, and everything when
	// Schema cannot be understood: whoever made the tool checks them.
	Lenient bool
}

// ReadOnly reports whether calls change nothing, so that they may run side by side
// and without asking.
func (s *Spec) ReadOnly() bool { return s.Kind == KindRead || s.Kind == KindSearch }

// Tool is one function the model may call.
type Tool interface {
	Spec() *Spec
	// Prepare takes arguments that fit the schema and returns what the call would
	// do, without doing it. Errors are for the model.
	Prepare(v *workspace.View, args json.RawMessage) (*Call, error)
}

// Call is a valid call that has not run yet.
type Call struct {
	Title     string // in a few words, for the user
	Locations []Location
	// Run does it. An error is for the model; a context's error means cancelled.
	Run func(ctx context.Context) (*Result, error)
	// RunWeb is set instead of Run by tools that need the model's own reach into
	// the web.
	RunWeb func(ctx context.Context, m Grounder) (*Result, error)
	// RunCorrected is set beside Run by tools that can have what they were given put
	// right by a model. It does what Run does, and asks where Run would refuse.
	RunCorrected func(ctx context.Context, c Corrector) (*Result, error)
	// Permission, if set, must be given before Run.
	Permission *Permission
}

// Permission is what a call needs the user's consent for before it runs.
type Permission struct {
	Subject string   // what it is about, as in WIRE.md: network, mcp, tool
	Keys    []string // what consent for the session covers, such as hosts
	Detail  string   // what the user should know, Markdown
}

// Location is a place a call is about.
type Location struct {
	Path string
	Line int // 1-based; 0 when it is the file as a whole
}

// Result is what a call brought.
type Result struct {
	Text    string  // for the model
	Media   []Media // for the model, beside Text
	Display string  // Markdown for the user; empty: a short form of Text will do
	// What is to be done; at most one is set.
	Change  *Change     // what an editing tool wants
	Command *Command    // what is to be run; what it brings takes the place of Text
	Plan    []PlanEntry // what is shown as the model's plan; nil: it stays as it is
}

// Media is content that is no text.
type Media struct {
	MIMEType string
	Data     []byte
}

// Change is what a tool wants changed. Exactly one of Edits, Create, Delete and
// Rename holds.
type Change struct {
	File   *workspace.File  // what the edits refer to
	Edits  []workspace.Edit // in order, not overlapping
	Create *NewFile
	Delete string // absolute path of a file
	Rename *NewName
	Done   string // what the model is told once all of it is in place
	Ask    bool   // the user is asked even where edits are applied at once
	// More are further changes of the same call, staged after this one.
	More []*Change
}

// NewName is a file to be renamed; the paths are absolute.
type NewName struct{ From, To string }

// Command is a command line that a tool wants run.
type Command struct {
	Line        string // for bash
	Dir         string // absolute path of the working folder
	Description string // what it is for, in the model's words; may be empty
	Background  bool   // leave it running
}

// NewFile is a file to be created.
type NewFile struct {
	Path    string
	Content string
}

// Path returns the file the change is about.
func (c *Change) Path() string {
	switch {
	case c.Create != nil:
		return c.Create.Path
	case c.Delete != "":
		return c.Delete
	case c.Rename != nil:
		return c.Rename.From
	}
	return c.File.Path
}

// Stage adds the change to v for the function call callID. When a part of it cannot
// be staged, what was before it is: the caller has to drop v.
func (c *Change) Stage(v *workspace.View, callID string) error {
	var err error
	switch {
	case c.Create != nil:
		err = v.Create(callID, c.Create.Path, c.Create.Content)
	case c.Delete != "":
		err = v.Delete(callID, c.Delete)
	case c.Rename != nil:
		err = v.Rename(callID, c.Rename.From, c.Rename.To)
	default:
		err = v.Stage(callID, c.File, c.Edits)
	}
	for _, m := range c.More {
		if err != nil {
			break
		}
		err = m.Stage(v, callID)
	}
	return err
}

// define makes a tool of a spec and a function over its decoded parameters.
func define[P any](spec Spec, prepare func(v *workspace.View, p P) (*Call, error)) Tool {
	return &defined[P]{spec, prepare}
}

type defined[P any] struct {
	spec    Spec
	prepare func(v *workspace.View, p P) (*Call, error)
}

func (d *defined[P]) Spec() *Spec { return &d.spec }

func (d *defined[P]) Prepare(v *workspace.View, args json.RawMessage) (*Call, error) {
	var p P
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, fmt.Errorf("invalid parameters for %s: %w", d.spec.Name, err)
	}
	return d.prepare(v, p)
}
