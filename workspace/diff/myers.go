package diff

import "sort"

// maxCost bounds the search for one middle snake. Past it the texts are so
// different that a minimal script is of no use to a reader, and the time would
// grow with the square of the difference.
const maxCost = 400

// region says that lines [a0, a1) became lines [b0, b1).
type region struct{ a0, a1, b0, b1 int }

// differ runs the linear-space variant of Myers' O(ND) algorithm over interned
// lines ("An O(ND) Difference Algorithm and Its Variations", 1986, section 4b).
type differ struct {
	a, b   []int32
	out    []region
	fv, bv []int // furthest reaching points of the forward and backward search, reused
}

// run appends the changes between a[a0:a1] and b[b0:b1] to d.out.
func (d *differ) run(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 {
		d.emit(a0, a1, b0, b1)
		return
	}
	if x, y, ok := d.middle(a0, a1, b0, b1); ok {
		d.run(a0, x, b0, y)
		d.run(x, a1, y, b1)
		return
	}
	anchors := d.anchors(a0, a1, b0, b1)
	if len(anchors) == 0 {
		d.emit(a0, a1, b0, b1)
		return
	}
	x, y := a0, b0
	for _, p := range anchors {
		d.run(x, p[0], y, p[1])
		x, y = p[0], p[1]
	}
	d.run(x, a1, y, b1)
}

func (d *differ) emit(a0, a1, b0, b1 int) {
	if a0 == a1 && b0 == b1 {
		return
	}
	if n := len(d.out); n > 0 && d.out[n-1].a1 == a0 && d.out[n-1].b1 == b0 {
		d.out[n-1].a1, d.out[n-1].b1 = a1, b1
		return
	}
	d.out = append(d.out, region{a0, a1, b0, b1})
}

// middle finds a point on a shortest edit path that splits the box in two smaller
// ones. ok is false when none was found within maxCost.
func (d *differ) middle(a0, a1, b0, b1 int) (x, y int, ok bool) {
	n, m := a1-a0, b1-b0
	limit := min((n+m+1)/2, maxCost)
	delta := n - m
	odd := delta&1 != 0
	size := 2*limit + 2
	if len(d.fv) < size {
		d.fv, d.bv = make([]int, size), make([]int, size)
	}
	fv, bv, off := d.fv, d.bv, limit
	fv[off+1], bv[off+1] = 0, 0
	for c := 0; c <= limit; c++ {
		for k := -c; k <= c; k += 2 {
			if k < -m || k > n { // outside the box
				continue
			}
			var px int
			if k == -c || (k != c && fv[off+k-1] < fv[off+k+1]) {
				px = fv[off+k+1]
			} else {
				px = fv[off+k-1] + 1
			}
			py := px - k
			for px < n && py < m && py >= 0 && d.a[a0+px] == d.b[b0+py] {
				px, py = px+1, py+1
			}
			fv[off+k] = px
			// Overlap with the backward search of the previous round?
			if kb := delta - k; odd && kb >= -(c-1) && kb <= c-1 && px+bv[off+kb] >= n {
				return d.split(a0, a1, b0, b1, px, py)
			}
		}
		for k := -c; k <= c; k += 2 {
			if k < -m || k > n {
				continue
			}
			var px int
			if k == -c || (k != c && bv[off+k-1] < bv[off+k+1]) {
				px = bv[off+k+1]
			} else {
				px = bv[off+k-1] + 1
			}
			py := px - k
			for px < n && py < m && py >= 0 && d.a[a1-1-px] == d.b[b1-1-py] {
				px, py = px+1, py+1
			}
			bv[off+k] = px
			if kf := delta - k; !odd && kf >= -c && kf <= c && px+fv[off+kf] >= n {
				return d.split(a0, a1, b0, b1, n-px, m-py)
			}
		}
	}
	return 0, 0, false
}

// split rejects points that would not make both boxes smaller.
func (d *differ) split(a0, a1, b0, b1, x, y int) (int, int, bool) {
	x, y = a0+x, b0+y
	if x < a0 || x > a1 || y < b0 || y > b1 || (x == a0 && y == b0) || (x == a1 && y == b1) {
		return 0, 0, false
	}
	return x, y, true
}

// anchors returns the longest increasing sequence of lines that occur exactly
// once in each side (the idea of patience diff), as pairs of line numbers.
func (d *differ) anchors(a0, a1, b0, b1 int) [][2]int {
	type seen struct{ na, nb, ia, ib int }
	count := make(map[int32]*seen, a1-a0)
	for i := a0; i < a1; i++ {
		s := count[d.a[i]]
		if s == nil {
			s = &seen{}
			count[d.a[i]] = s
		}
		s.na, s.ia = s.na+1, i
	}
	for i := b0; i < b1; i++ {
		if s := count[d.b[i]]; s != nil {
			s.nb, s.ib = s.nb+1, i
		}
	}
	var pairs [][2]int
	for i := a0; i < a1; i++ {
		if s := count[d.a[i]]; s.na == 1 && s.nb == 1 {
			pairs = append(pairs, [2]int{i, s.ib})
		}
	}
	// Longest increasing subsequence on the second member.
	tails := make([]int, 0, len(pairs)) // indexes into pairs
	prev := make([]int, len(pairs))
	for i, p := range pairs {
		j := sort.Search(len(tails), func(j int) bool { return pairs[tails[j]][1] >= p[1] })
		prev[i] = -1
		if j > 0 {
			prev[i] = tails[j-1]
		}
		if j == len(tails) {
			tails = append(tails, i)
		} else {
			tails[j] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	chain := make([][2]int, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; i, k = prev[i], k-1 {
		chain[k] = pairs[i]
	}
	return chain
}
