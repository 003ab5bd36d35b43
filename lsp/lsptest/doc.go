// Package lsptest is an editor for tests: a real LSP client, over a pipe or a
// process' stdio, that behaves as a chosen real editor does, with its faults.
//
// It shares no code with the server's transport or with its protocol library,
// so that what both sides get wrong does not cancel out. It keeps documents as
// an editor does (positions in the negotiated encoding, a version per change,
// undo), performs workspace/applyEdit for real, answers the server's requests by
// its [Personality] and the callbacks of [Options], and holds the server to the
// protocol: whatever violates it (a gap in the event sequence, overlapping edits,
// a file operation without its kind, …) fails the test.
//
// Nothing waits by time: [Editor.WaitEvent] and its relatives block until a
// message makes their condition true, and fail the test with the transcript when
// the test's deadline passes.
package lsptest
