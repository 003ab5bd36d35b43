package shell

import "strings"

// toolNames are how settings call the tool that runs commands.
var toolNames = []string{"run_shell_command", "ShellTool", "Shell"}

// Prefixes returns the command prefixes that settings entries such as "run_shell_command(git status)" name. all says
// that an entry names the tool without any prefix.
func Prefixes(entries []string) (prefixes []string, all bool) {
	for _, e := range entries {
		e = strings.TrimSpace(e)
		for _, name := range toolNames {
			if e == name || e == name+"()" {
				all = true
			}
			if in, ok := strings.CutPrefix(e, name+"("); ok {
				if in = strings.TrimSpace(strings.TrimSuffix(in, ")")); in != "" {
					prefixes = append(prefixes, in)
				}
			}
		}
	}
	return prefixes, all
}
