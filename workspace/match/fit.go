package match

import (
	"slices"
	"strings"
)

// Limits of [Fit], so that it stays within some milliseconds.
const (
	maxFitLines  = 3000 // of a block
	maxFitWork   = 8 << 20
	maxFitLead   = 6 // lines of the block that may be new before one that is in the text
	maxFitStarts = 40
)

// Fit finds the lines of text that block is a new version of: block begins and ends,
// but for new lines before, with a line that is in the text, as a function does that
// a model shows with its change. The lines between need not be alike. The edit
// replaces whole lines, and takes the text's indentation; line ends are "\n". ok is
// false when block says not clearly enough where it belongs, or leaves something out.
func Fit(text, block string) (edit Edit, ok bool) {
	if _, left := PlaceholderLine(block); left {
		return Edit{}, false
	}
	old := splitLines(text)
	now := splitLines(strings.Trim(strings.ReplaceAll(block, "\r\n", "\n"), "\n"))
	if len(now) < 2 || len(now) > maxFitLines {
		return Edit{}, false
	}
	keys := trimAll(old)
	want := trimAll(now)
	last := want[len(want)-1]
	for lead := 0; lead < min(maxFitLead, len(want)-1); lead++ {
		if !hasWord(want[lead]) {
			continue
		}
		best, score, even := [2]int{}, 0.0, false
		starts := 0
		for i, k := range keys {
			if k != want[lead] {
				continue
			}
			if starts++; starts > maxFitStarts {
				return Edit{}, false
			}
			end, sc := fitEnd(old[i:], keys[i:], now[lead:], want[lead:], last)
			switch {
			case end == 0:
			case sc > score:
				best, score, even = [2]int{i, i + end}, sc, false
			case sc == score:
				even = true
			}
		}
		switch {
		case starts == 0:
			continue
		case score == 0 || even:
			return Edit{}, false
		}
		from, to := best[0], best[1]
		lines := reindent(now, leadingBlanks(now[lead]), leadingBlanks(old[from]))
		out := strings.Join(lines, "\n")
		region := strings.Join(old[from:to], "")
		if strings.HasSuffix(region, "\n") || strings.HasSuffix(region, "\r") {
			out += "\n"
		}
		start := len(strings.Join(old[:from], ""))
		return Edit{Start: start, End: start + len(region), New: out}, true
	}
	return Edit{}, false
}

// fitEnd returns how many lines of old, which begins with the first line of now, now
// stands for, and how alike they are (0 to 1); 0 when there is no fitting last line.
func fitEnd(old, oldKeys, now, want []string, last string) (end int, score float64) {
	n := min(len(oldKeys), maxFitWork/len(want))
	depth := width(now[len(now)-1]) - width(now[0])
	ends := func(sameDepth bool) (out []int) {
		for e := 1; e < n; e++ {
			if oldKeys[e] == last && (!sameDepth || width(old[e])-width(old[0]) == depth) {
				out = append(out, e)
			}
		}
		return out
	}
	candidates := ends(true)
	if candidates == nil {
		candidates = ends(false)
	}
	if candidates == nil {
		return 0, 0
	}
	n = candidates[len(candidates)-1] + 1
	// row[e] is the weight of the heaviest common subsequence with the first e lines.
	row := make([]int, n+1)
	total := 0
	for _, w := range want {
		diagonal, here := 0, weight(w)
		total += here
		for e := 1; e <= n; e++ {
			above := row[e]
			if oldKeys[e-1] == w {
				row[e] = diagonal + here
			} else {
				row[e] = max(row[e], row[e-1])
			}
			diagonal = above
		}
	}
	sum, upTo := 0, 0
	for _, e := range candidates {
		for ; upTo <= e; upTo++ {
			sum += weight(oldKeys[upTo])
		}
		if sc := float64(2*row[e+1]) / float64(sum+total); sc > score {
			end, score = e+1, sc
		}
	}
	return end, score
}

// weight is what a line counts for: braces and blank lines are alike everywhere.
func weight(key string) int {
	if hasWord(key) {
		return 8
	}
	return 1
}

// splitLines returns the lines of s with their ends.
func splitLines(s string) []string { return slices.Collect(strings.Lines(s)) }

func trimAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

func leadingBlanks(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// width is the depth of a line's indentation; a tab counts as four.
func width(line string) int {
	b := leadingBlanks(line)
	return len(b) + 3*strings.Count(b, "\t")
}

// reindent returns the lines without their ends, and with the indentation from, where
// all have it, replaced by to.
func reindent(lines []string, from, to string) []string {
	out := make([]string, len(lines))
	all := true
	for i, l := range lines {
		out[i] = strings.TrimRight(l, "\r\n")
		all = all && (strings.TrimSpace(l) == "" || strings.HasPrefix(l, from))
	}
	if from == to || !all {
		return out
	}
	for i, l := range out {
		if strings.TrimSpace(l) != "" {
			out[i] = to + strings.TrimPrefix(l, from)
		}
	}
	return out
}
