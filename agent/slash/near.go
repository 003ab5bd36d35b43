package slash

import (
	"slices"
	"strings"
)

// near returns the names that may be meant by one that there is not: those that
// begin with it, and those that few slips lead to. At most three, the nearest first.
func near(name string, all []string) []string {
	type hit struct {
		name string
		far  int
	}
	var hits []hit
	for _, n := range all {
		_, bare, _ := strings.Cut(n, ":")
		d := distance(name, n)
		if len(name) >= 2 && (strings.HasPrefix(n, name) || bare == name) {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			hits = append(hits, hit{n, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.far - b.far })
	var out []string
	for _, h := range hits[:min(len(hits), 3)] {
		out = append(out, h.name)
	}
	return out
}

// distance is how many letters must be put in, left out or replaced, or neighbours
// swapped, to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	two, prev := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(prev[j+1]+1, row[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
		two, prev = prev, row
	}
	return prev[len(y)]
}
