package policy

import (
	"slices"
	"strings"
)

// runFolders hold what other programs run, or take their orders from, without being told: git's hooks and configuration,
// the settings and commands of Gemini CLI and of this program, the tasks and settings of editors.
var runFolders = []string{".git", ".gemini", ".vscode", ".idea"}

// Runs reports whether what is written to a path may be run later without anybody being asked. Letters fit both cases.
func Runs(p Path) bool {
	for part := range strings.SplitSeq(strings.ToLower(p.Rel), "/") {
		if slices.Contains(runFolders, part) {
			return true
		}
	}
	return false
}
