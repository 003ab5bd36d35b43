package match

// How much two lines have in common, as align weighs them.
const (
	unlike = 0
	moved  = 2 // the same but for indentation
	alike  = 3
)

// maxAlign bounds the table (cells) that align builds; beyond it only common ends are paired.
const maxAlign = 1 << 20

// align pairs the lines 0…n-1 of one text with the lines 0…m-1 of another, in order, so that the pairs have the most in
// common. It returns for each j the line it is paired with, or -1.
func align(n, m int, weigh func(i, j int) int) []int {
	pairs := make([]int, m)
	for j := range pairs {
		pairs[j] = -1
	}
	lo := 0
	for lo < n && lo < m && weigh(lo, lo) == alike {
		pairs[lo] = lo
		lo++
	}
	for n > lo && m > lo && weigh(n-1, m-1) == alike {
		n--
		m--
		pairs[m] = n
	}
	rows, cols := n-lo, m-lo
	if rows == 0 || cols == 0 || rows > maxAlign/cols {
		return pairs
	}
	// best[i][j] is the most that the lines from i and from j on can have in common.
	best := make([]int32, (rows+1)*(cols+1))
	at := func(i, j int) *int32 { return &best[i*(cols+1)+j] }
	for i := rows - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			b := max(*at(i+1, j), *at(i, j+1))
			if w := weigh(lo+i, lo+j); w != unlike {
				b = max(b, *at(i+1, j+1)+int32(w))
			}
			*at(i, j) = b
		}
	}
	for i, j := 0, 0; i < rows && j < cols; {
		switch w := weigh(lo+i, lo+j); {
		case w != unlike && *at(i, j) == *at(i+1, j+1)+int32(w):
			pairs[lo+j] = lo + i
			i++
			j++
		case *at(i, j) == *at(i+1, j):
			i++
		default:
			j++
		}
	}
	return pairs
}
