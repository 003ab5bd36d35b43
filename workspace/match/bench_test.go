package match_test

import (
	"fmt"
	"strings"
	"testing"

	"redline/workspace/match"
)

// bigFile is 5 MB of code-like lines, most of them different.
func bigFile() string {
	var b strings.Builder
	for i := 0; b.Len() < 5<<20; i++ {
		fmt.Fprintf(&b, "\tif value%d := compute(%d, \"item %d\"); value%d > limit {\n\t\ttotal += value%d // keeps the sum\n\t}\n\n", i, i, i, i, i)
	}
	return b.String()
}

// oneWordLines is 5 MB of 500,000 lines of one word.
func oneWordLines() string {
	var b strings.Builder
	for i := range 500000 {
		fmt.Fprintf(&b, "word%06d\n", i)
	}
	return b.String()
}

// BenchmarkFind measures a search in a 5 MB file. The budget is 20 ms each, refusals with the nearest text included.
func BenchmarkFind(b *testing.B) {
	text := bigFile()
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	cjk := strings.ReplaceAll(text, "keeps the sum", "合計を保持する")
	block := "\tif value30000 := compute(30000, \"item 30000\"); value30000 > limit {\n\t\ttotal += value30000 // keeps the sum\n\t}"
	cases := []struct {
		name, text, old string
		found           bool
	}{
		{"exact", text, block, true},
		{"line ends", crlf, block, true},
		{"dedented", text, strings.ReplaceAll(block, "\t", "  "), true},
		{"escaped", text, jsonEscape.Replace(block), true},
		{"missing but near", text, strings.Replace(block, "total", "sum", 1) + "\n", false},
		{"missing line", text, "\tif value30000 := compute(30001, nothing) {", false},
		{"missing and unlike", text, "zebra crossing\nquantum chromodynamics", false},
		{"missing, not ASCII", cjk, "zebra crossing\nquantum chromodynamics", false},
		{"missing, one line repeated", strings.Repeat("x = x + 1\n", 500000), "x = x + 1\ny = 2\nx = x + 1", false},
		{"missing, one word a line", oneWordLines(), "word123456\nword654321\nword123458", false},
		{"layout, one word a line", oneWordLines(), "  word123456\n  word123457\n  word123458", true},
		{"missing, repeated block", strings.Repeat("x = x + 1\n", 500000), strings.Repeat("x = x + 1\n", 2000) + "y = 2\n", false},
		{"layout, one line repeated", strings.Repeat("x = x + 1\n", 500000), strings.Repeat("  x = x + 1\n", 3), false},
		{"missing, one long line", strings.Repeat("x = x + 1; ", 480000), "x  =  x + 2", false},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := match.Find(c.text, c.old, "replaced", 1); (err == nil) != c.found {
					b.Fatal(err)
				}
			}
		})
	}
}
