package workspace

import "redline/workspace/merge"

// Merge brings what leads from base to theirs into ours, line by line. ok is false
// when both sides changed the same lines in different ways, or inserted different
// lines at the same place.
func Merge(base, ours, theirs string) (merged string, ok bool) {
	merged, conflicts := merge.MergeTouching(base, ours, theirs)
	if len(conflicts) > 0 {
		return "", false
	}
	return merged, true
}
