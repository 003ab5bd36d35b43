// Package workspace is the project as its user sees it: the documents open in
// the editor laid over the files on disk, and the changes proposed to them.
//
// Start at [Workspace], which holds what is open now. A [Snapshot] is the state
// at one moment and is what tools read. A [View] adds edits that are staged but
// not yet decided. A [Proposal] is a set of staged edits cut into hunks; it
// moves along with the text (Rebase) until each hunk is decided.
//
// Everything here counts in bytes of UTF-8 text; lines are 0-based unless a name
// says otherwise. The package knows no protocol and no model, and writes to disk
// only in [Disk], which the headless mode uses.
package workspace
