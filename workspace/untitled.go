package workspace

import (
	"fmt"
	"slices"
	"strings"
)

// untitledScheme begins the URI of a document that was never saved, as VS Code and
// others name it.
const untitledScheme = "untitled:"

// Untitled reports whether path names a document that was never saved. Such a document
// is known by its URI wherever a file is known by its absolute path; it is there only
// while it is open, and is nowhere on the disk.
func Untitled(path string) bool { return strings.HasPrefix(path, untitledScheme) }

// Untitled returns the names of the open documents that were never saved, sorted.
func (s *Snapshot) Untitled() []string {
	var out []string
	for _, d := range s.Documents() {
		if Untitled(d.Key) {
			out = append(out, d.Key)
		}
	}
	return out
}

// resolveUntitled checks that the document is open.
func (s *Snapshot) resolveUntitled(p string) (string, error) {
	open := s.Untitled()
	if slices.Contains(open, p) {
		return p, nil
	}
	if len(open) == 0 {
		return "", &PathError{p, fmt.Sprintf("no document %q is open in the editor; it may have been saved as a file or closed. Use the path of a file", p)}
	}
	return "", &PathError{p, fmt.Sprintf("no document %q is open in the editor; of those that were never saved there are: %s. Else use the path of a file", p, strings.Join(open, ", "))}
}
