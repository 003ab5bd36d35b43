// Package editortest is what the tests of all editors share: where editors are installed,
// the redline binary, and replay files, which every editor must be able to play.
//
// # Replay files
//
// A replay file is a txtar archive in editors/testdata. Before its sections it says what it
// is about. The sections:
//
//	prompt             what the person asks
//	model.json         the model's part: a geminitest.Script; ${ROOT} is the workspace
//	before/PATH        a file of the workspace
//	after/PATH         what it holds on disk in the end; a file that is not named here
//	                   must be as before
//	gone               paths, one a line, that are no file in the end
//	person             what the person does, a line each, as below
//	told N             texts, one a line, that the function responses of the model's
//	                   request N (from 0) contain
//
// before/PATH and after/PATH are taken as they are, except that PATH may be followed by the word
// "quoted": then each line is a Go string literal, and the file is these joined.
//
//	open FILE                  shows the file
//	type FILE LINE TEXT        makes TEXT of that line, without saving; LINE is 1-based
//	ask                        sends the prompt
//	review N                   waits until N hunks are shown and none is decided
//	accept FILE LINE           decides the hunk that begins at that line of FILE, as it is shown
//	reject FILE LINE [REASON]
//	amend FILE LINE TEXT       takes the hunk with the line TEXT in place of what was proposed
//	all                        accepts all that is not decided, conflicts too, which are not applied
//	idle                       waits for the end of the turn
//	undo FILE                  takes back the last change of FILE
//	save FILE
//	shows FILE LINE TEXT       that line of FILE, as the editor has it, is TEXT
//
// A hunk that creates, renames or deletes a file is at line 1 of it.
package editortest
