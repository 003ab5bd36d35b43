// Package ignore decides which files of a workspace are ignored, as git decides it.
//
// The rules come from, in order of precedence: `.geminiignore` at the workspace root, the `.gitignore` files from the
// entry's own directory up to the top of its repository, the repository's `info/exclude`, and the file that
// core.excludesFile names (by default `git/ignore` below the XDG configuration directory). The first of these that has a
// matching pattern decides, and inside one file the last matching line does. An entry below an ignored directory is
// ignored whatever any pattern says. The reference is gitignore(5) and the behaviour of git itself: bytes are compared,
// not characters, and `?` is one byte.
//
// Three decisions are ours, for trees that git has no opinion on:
//   - Without a repository, `.gitignore` files count all the same, the workspace root being the top.
//   - A repository inside the workspace starts afresh: only its own rules (and `.geminiignore`) hold inside it.
//   - When the workspace is a folder that the repository around it ignores, that repository's rules are not used: the user
//     opened the folder, so it is not to appear empty.
//
// Git applies the rules to untracked files only; this package does not read the index, so a tracked file that matches a
// pattern counts as ignored.
//
// A [Rules] reads rule files when it first needs them and then keeps what it read. It is a snapshot of one moment: make a
// new one for each operation, which costs a few dozen microseconds.
package ignore
