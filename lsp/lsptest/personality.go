package lsptest

// Verdict is how an editor reacts to an edit it does not like.
type Verdict int

const (
	// Refuses answers applied:false.
	Refuses Verdict = iota
	// Skips leaves the document or operation out, goes on, and answers applied:true.
	Skips
	// Applies does it anyway and answers applied:true.
	Applies
	// Fails answers a JSON-RPC error -32603.
	Fails
)

// Confirmation is what an editor makes of annotations with needsConfirmation.
type Confirmation int

const (
	// IgnoresConfirmation applies without asking.
	IgnoresConfirmation Confirmation = iota
	// RefactorPreview shows all changes, the ones that need it unticked; nothing
	// ticked or Discard is applied:false, else the ticked ones are applied.
	RefactorPreview
	// ConfirmsEach asks for each edit and answers applied:true whatever the answers.
	ConfirmsEach
	// ConfirmsAll asks once for every edit of a server, annotated or not, and
	// answers applied:true whatever the answer.
	ConfirmsAll
)

// Messages is what an editor makes of window/showMessageRequest.
type Messages int

const (
	// MessageButtons shows each request; dismissing answers null.
	MessageButtons Messages = iota
	// MessageUnknown answers -32601.
	MessageUnknown
	// MessageReplaced shows one at a time; a second one replaces the first, which
	// is never answered. Escape answers null.
	MessageReplaced
	// MessageQuit never answers when the user quits (C-g).
	MessageQuit
)

// LineEnds is what an editor does with line ends.
type LineEnds int

const (
	// KeepsLineEnds takes them as they come, on opening and in edits.
	KeepsLineEnds LineEnds = iota
	// OneLineEnd gives the whole document the most frequent one on opening, and
	// inserted text too.
	OneLineEnd
	// FileFormat keeps what is there, and inserts CR LF when every line of the
	// document ends so, else LF.
	FileFormat
)

// Fault is a way to misbehave on top of a personality.
type Fault int

const (
	// NoFault behaves as the editor does.
	NoFault Fault = iota
	// Silent never answers requests that wait for the user or edit.
	Silent
	// Late does and answers them only when the server has given up on them
	// ($/cancelRequest).
	Late
	// Half applies the first half of a workspace edit and answers applied:true.
	Half
	// Formats applies, then changes the text by Options.Format, and answers
	// applied:true.
	Formats
	// Vanishes closes the pipe at the first request of Options.VanishAt.
	Vanishes
)

// Personality describes how an editor behaves, as measured. The predefined ones
// may be copied and changed.
type Personality struct {
	Name string
	// Encodings offered for positions, best first; empty offers none (utf-16).
	Encodings []string
	// FirstVersion is the version of didOpen.
	FirstVersion int
	// FirstStep is what the first change adds to the version; 1 when it is 0.
	// Later changes add 1.
	FirstStep int

	Stale  Verdict // the edit's version is older than the document's
	Future Verdict // the edit's version is newer
	// ChecksAllFirst looks at the versions of all open documents before any edit.
	ChecksAllFirst bool
	// ChecksFirstOnly looks at the version of the first document of an edit only:
	// the others are changed whatever their version.
	ChecksFirstOnly bool
	// RefusesUnversioned refuses an edit without a version for an open document that
	// has unsaved changes: redline's plugins do, no editor by itself.
	RefusesUnversioned bool
	// IgnoresVersion0 takes an edit for version 0 as one for any version.
	IgnoresVersion0 bool
	// CreateTruncates empties an existing file on create, unless ignoreIfExists is set.
	CreateTruncates bool
	// NamesFailure adds failureReason to a refusal, NamesChange failedChange.
	NamesFailure, NamesChange bool
	// Broken is the reaction to an operation that fails in the middle; what was
	// applied before is kept.
	Broken Verdict
	// IgnoresBadRename treats a rename that fails as done and goes on.
	IgnoresBadRename bool

	// ResourceOperations advertised: create, rename, delete. Others fail.
	ResourceOperations []string
	Confirmation       Confirmation
	// Annotations says that changeAnnotationSupport is advertised.
	Annotations bool
	Messages    Messages
	// SilentForUnknown answers unknown requests not at all.
	SilentForUnknown bool
	// NullForUnknown answers unknown requests null instead of -32601.
	NullForUnknown bool
	// Plugin says that it can have a redline client: custom requests and notifications.
	Plugin bool
	// LateChanges sends didChange after the answer to applyEdit, as editors do
	// that collect changes before they send them.
	LateChanges bool
	// TellsWhenShown keeps back what an edit changes in a document that is not in front
	// until it is: opened again, typed into or saved.
	TellsWhenShown bool
	LineEnds       LineEnds
	// EmptyIsLine gives a document that has no file yet one empty line.
	EmptyIsLine bool
	// FileEvents sends workspace/did{Create,Rename,Delete}Files for operations of
	// workspace edits too.
	FileEvents bool

	Fault Fault
}

var allOperations = []string{"create", "rename", "delete"}

// VSCode is Visual Studio Code with vscode-languageclient.
func VSCode() Personality {
	return Personality{
		Name: "VS Code", Encodings: []string{UTF16}, FirstVersion: 1,
		Stale: Refuses, Future: Refuses, ChecksAllFirst: true, Broken: Refuses,
		ResourceOperations: allOperations, Confirmation: RefactorPreview, Annotations: true,
		Messages: MessageButtons, Plugin: true, LineEnds: OneLineEnd, FileEvents: true,
	}
}

// Neovim010 is Neovim 0.10. Measured with 0.10.4 and 0.12.4 beyond EDITORS.md:
// only the first document of an edit has its version checked, and not at all if
// it is 0, which it is until the first change; the first change sets it to the
// buffer's changedtick; create empties an existing file; a bad rename is passed
// over while a bad delete ends the edit with applied:false.
func Neovim010() Personality {
	return Personality{
		Name: "Neovim 0.10", Encodings: []string{UTF16}, FirstStep: 5,
		Stale: Skips, Future: Applies, ChecksFirstOnly: true, IgnoresVersion0: true, CreateTruncates: true,
		Broken: Refuses, NamesFailure: true, IgnoresBadRename: true,
		ResourceOperations: allOperations, Confirmation: IgnoresConfirmation,
		Messages: MessageButtons, Plugin: true, LateChanges: true, LineEnds: FileFormat,
	}
}

// Neovim012 is Neovim 0.12.
func Neovim012() Personality {
	p := Neovim010()
	p.Name, p.Encodings = "Neovim 0.12", []string{UTF8, UTF16, UTF32}
	p.Confirmation, p.Annotations = ConfirmsEach, true
	return p
}

// Helix2501 is Helix 25.01.
func Helix2501() Personality {
	return Personality{
		Name: "Helix 25.01", Encodings: []string{UTF8, UTF32, UTF16},
		Stale: Refuses, Future: Refuses, NamesFailure: true, NamesChange: true, Broken: Refuses,
		ResourceOperations: allOperations, Confirmation: IgnoresConfirmation,
		Messages: MessageUnknown,
	}
}

// Helix2507 is Helix 25.07.
func Helix2507() Personality {
	p := Helix2501()
	p.Name, p.Messages, p.IgnoresBadRename = "Helix 25.07", MessageReplaced, true
	return p
}

// Eglot is Emacs 30.1 with eglot, without a redline package.
func Eglot() Personality {
	return Personality{
		Name: "eglot", Encodings: []string{UTF32, UTF8, UTF16},
		Stale: Fails, Future: Fails, Broken: Fails, Confirmation: ConfirmsAll,
		Messages: MessageQuit, NullForUnknown: true, LateChanges: true,
	}
}

// VimLSP is Vim with the plugin vim-lsp, of April 2026. It looks at no version, and says
// nothing of what it cannot do.
func VimLSP() Personality {
	return Personality{
		Name: "vim-lsp", FirstVersion: 1, Stale: Applies, Future: Applies, Broken: Refuses, Confirmation: IgnoresConfirmation,
		Messages: MessageButtons, SilentForUnknown: true, LateChanges: true, TellsWhenShown: true, LineEnds: FileFormat, EmptyIsLine: true,
	}
}

// WithPlugin lets a personality have a redline client (eglot's Emacs package).
func (p Personality) WithPlugin() Personality {
	p.Plugin = true
	return p
}

// OwnApply is an editor whose redline plugin has its word about workspace/applyEdit: it
// looks at the versions of all documents first and refuses what does not fit.
func (p Personality) OwnApply() Personality {
	p.RefusesUnversioned = true
	p.Stale, p.Future, p.ChecksAllFirst = Refuses, Refuses, true
	p.ChecksFirstOnly, p.IgnoresVersion0, p.CreateTruncates = false, false, false
	p.Confirmation = IgnoresConfirmation
	return p
}

// WithFault makes a personality misbehave.
func (p Personality) WithFault(f Fault) Personality {
	p.Fault = f
	return p
}

// Personalities are the well-behaved ones, for tests that run in all editors.
func Personalities() []Personality {
	return []Personality{VSCode(), Neovim010(), Neovim012(), Helix2501(), Helix2507(), Eglot()}
}
