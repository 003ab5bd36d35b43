// Package shell decides whether a command line may run without asking, and runs command lines.
//
// Policy is pure: it parses a line as bash would, collects every command at every nesting level and compares each with
// what the user allows and denies. Whatever it does not understand completely needs confirmation; it never guesses.
//
// Run runs a line with bash in a process group of its own, shows the output as it comes and leaves nothing behind that
// it was told to stop.
package shell
