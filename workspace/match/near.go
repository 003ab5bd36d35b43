package match

import (
	"slices"
	"strings"
)

// maxVotes bounds the pairs of alike lines that the search for near text looks at.
const maxVotes = 20000

// votes counts for each solid line of the file how many lines of b would stand where they are if b started there,
// weighed by length. Lines without a word do not vote. ok is false when there are too many alike lines to count.
func (ix *index) votes(b block) (weight map[int]int, ok bool) {
	const alikeLines = 16 // of b; more of a kind tell nothing
	where := make(map[uint64][]int, len(b.lines))
	var sieve [256]uint64 // of hashes, for speed: most lines of the file are in no block
	for i, l := range b.lines {
		if hasWord(l.text) && len(where[b.hashes[i]]) < alikeLines {
			where[b.hashes[i]] = append(where[b.hashes[i]], i)
			sieve[b.hashes[i]>>6&255] |= 1 << (b.hashes[i] & 63)
		}
	}
	weight = map[int]int{}
	n := 0
	for k, h := range ix.hash {
		if sieve[h>>6&255]&(1<<(h&63)) == 0 {
			continue
		}
		for _, i := range where[h] {
			if n++; n > maxVotes {
				return weight, false
			}
			weight[k-i] += min(len(b.lines[i].text), 40)
		}
	}
	return weight, true
}

// nearLines finds old as whole lines of which one or two differ in the wording of a comment or in a sign or two of
// punctuation. Enough other lines must agree, and no other place may come as near.
func (s *search) nearLines(old, new string) []Edit {
	b := newBlock(old)
	n := len(b.lines)
	if n < 2 {
		return nil
	}
	ix := s.index()
	weight, ok := ix.votes(b)
	if !ok {
		return nil
	}
	var hits []int
	unequal := map[int]int{}
	for k := range weight {
		if k < 0 || k+n > len(ix.solid) {
			continue
		}
		miss := 0
		for i := 0; i < n && miss <= 2; i++ {
			if ix.hash[k+i] != b.hashes[i] {
				miss++
			}
		}
		if miss == 0 || miss > 2 {
			continue // none: an earlier stage saw it and refused
		}
		unequal[k] = miss
		if ix.forgivable(k, b) {
			hits = append(hits, k)
		}
	}
	if len(hits) == 0 {
		return nil
	}
	slices.Sort(hits)
	rivals := slices.Clone(hits)
	for k, miss := range unequal {
		if !slices.Contains(hits, k) && miss <= unequal[hits[0]] {
			rivals = append(rivals, k)
		}
	}
	slices.Sort(rivals)
	overlap := false
	for i := 1; i < len(rivals); i++ {
		overlap = overlap || rivals[i] < rivals[i-1]+n
	}
	if len(rivals) != s.expected || overlap {
		s.err = &Error{Kind: Ambiguous, Expected: s.expected, Found: len(rivals), Excerpts: s.runPlaces(rivals, n)}
		return nil
	}
	if s.contradicts(hits[0], b, new) {
		return nil
	}
	return s.rewriteAll(hits, b, old, new)
}

// forgivable reports whether the solid lines from k on are those of b but for forgivable differences.
func (ix *index) forgivable(k int, b block) bool {
	code, remarks, slips, others, edges := 0, 0, 0, 0, 0
	for i, l := range b.lines {
		_, text := splitIndent(ix.solidLine(k + i))
		x, y := fold(text), fold(l.text)
		_, remark := splitComment(x)
		switch {
		case sameTokens(x, y):
			if !hasWord(x) {
				continue
			}
			if remark == "" {
				code++
			} else {
				remarks++
			}
		case sameCode(x, y):
			if slip(x, y) {
				slips++
			} else if others++; i == 0 || i == len(b.lines)-1 {
				edges++
			}
		case sameButSigns(x, y):
			others++
		default:
			return false
		}
	}
	// A comment at the edge may belong to other code than the lines beside it, and with hardly any code around nothing
	// but a slip of one small word is sure to be the same remark.
	if others > 0 {
		return edges == 0 && code >= 2
	}
	return slips == 1 && (code >= 1 || remarks >= 2)
}

// splitComment divides a folded line at its comment sign.
func splitComment(line string) (code, comment string) {
	for _, sign := range []string{"//", "/*", "<!--", "# ", "-- ", "* ", "; ", "% "} {
		if strings.HasPrefix(line, sign) {
			return "", line
		}
	}
	for _, sign := range []string{" // ", " /* ", " # "} {
		// An odd number of quotes before it puts the sign into a string.
		if i := strings.Index(line, sign); i > 0 && strings.Count(line[:i], `"`)%2 == 0 {
			return strings.TrimSpace(line[:i]), line[i+1:]
		}
	}
	return line, ""
}

// sameCode reports whether two lines differ in the wording of a comment only.
func sameCode(a, b string) bool {
	codeA, remarkA := splitComment(a)
	codeB, remarkB := splitComment(b)
	return remarkA != "" && remarkB != "" && sameTokens(codeA, codeB) && reworded(remarkA, remarkB)
}

// sameButSigns reports whether two lines have the same words and differ in closing or separating signs only: up to two
// of them at the end, or a single one anywhere.
func sameButSigns(a, b string) bool {
	if !hasWord(a) || !slices.Equal(words(a), words(b)) {
		return false
	}
	x, y := string(squash(nil, a)), string(squash(nil, b))
	if len(x) < len(y) {
		x, y = y, x
	}
	n := 0
	for n < len(y) && x[n] == y[n] {
		n++
	}
	extra, ok := strings.CutSuffix(x[n:], y[n:])
	switch {
	case !ok || strings.Trim(extra, ",;:{}()[]\"") != "":
		return false
	case len(extra) == 1:
		return true
	}
	// "f" and "f()" are not the same.
	return len(extra) == 2 && n == len(y) && !strings.ContainsAny(extra, "([\"")
}

// reworded reports whether two comments are the same remark in slightly other words: most words agree, and those that
// do not are plain ones, so no name, number or negation differs.
func reworded(a, b string) bool {
	if strings.Contains(a, "...") != strings.Contains(b, "...") || isPlaceholder(b) {
		return false
	}
	x, y := words(a), words(b)
	pairs := align(len(x), len(y), func(i, j int) int {
		if x[i] == y[j] {
			return alike
		}
		return unlike
	})
	common := 0
	inX := make([]bool, len(x))
	for j, i := range pairs {
		if i >= 0 {
			common++
			inX[i] = true
		} else if !plainWord(y[j]) {
			return false
		}
	}
	for i, w := range x {
		if !inX[i] && !plainWord(w) {
			return false
		}
	}
	return common >= 2 && common*10 >= (len(x)+len(y))*3
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) })
}

// plainWord reports whether w is a lower-case word that denies nothing.
func plainWord(w string) bool {
	switch w {
	case "not", "no", "never", "without", "non", "unless", "except", "nor", "true", "false", "nil", "null", "none":
		return false
	}
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

// slip reports whether two remarks differ in one word, which is a misspelling or a small word.
func slip(a, b string) bool {
	x, y := words(a), words(b)
	if len(x) != len(y) {
		return false
	}
	n := 0
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if n++; n > 1 || !(smallWords[x[i]] && smallWords[y[i]] || misspelt(x[i], y[i])) {
			return false
		}
	}
	return n == 1
}

var smallWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("a an the this that these those to for of in on at by with from into is are was were be been will would should can could may might must it its and or as if when which who does do did has have had") {
		m[w] = true
	}
	return m
}()

// misspelt reports whether two long words differ by one letter left out, put in, or swapped with its neighbour.
func misspelt(a, b string) bool {
	if !plainWord(a) || !plainWord(b) || len(a) < 6 || len(b) < 6 {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if i == 0 {
		return false
	}
	if len(b) == len(a)+1 {
		return i < len(a) && a[i:] == b[i+1:]
	}
	return len(a) == len(b) && i+2 <= len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
