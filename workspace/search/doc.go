// Package search walks a workspace and looks for files and for text in them, with the files the user has open and not
// saved standing in for those on disk.
//
//   - [Walk] lists every file.
//   - [Glob] lists the files whose path matches a pattern, newest first.
//   - [Grep] lists the lines that match a regular expression.
//   - [List] lists one directory.
//
// All of them leave out what the rules of package ignore leave out, never enter `.git`, never follow a symbolic link to a
// directory, and open nothing but regular files. Their results do not depend on the order in which the machine happens to
// visit files. Paths in results are relative to the workspace root and have slashes.
//
// # How Grep is fast
//
// A regular expression is taken apart into literals of which each matching line must contain at least one. These are
// searched in the whole text at once, with the vector code of package bytes where they have rare bytes, otherwise by
// looking at every few bytes of the text only. A lazily built deterministic automaton decides about the lines they are
// found in, and about all lines when there is no literal. The regexp package matches only for the odd expression that
// tells hundreds of characters apart; in the tests it is the judge.
package search
