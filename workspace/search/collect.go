package search

import (
	"container/heap"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// collector keeps the matches of the first files by path that together hold max matching lines, so that memory does not
// grow with what is found and the result does not depend on the order in which files are searched.
type collector struct {
	max     int
	context int
	cutoff  atomic.Pointer[string] // files beyond it need not be offered

	mu    sync.Mutex
	files lastFirst
	shown int
}

// keeps reports whether matches of the file may be part of the result.
func (c *collector) keeps(path string) bool {
	last := c.cutoff.Load()
	return last == nil || path <= *last
}

func (c *collector) add(f FileMatches) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heap.Push(&c.files, f)
	c.shown += countMatches(f.Lines)
	if c.max <= 0 {
		return
	}
	for c.shown-countMatches(c.files[0].Lines) >= c.max {
		dropped := heap.Pop(&c.files).(FileMatches)
		c.shown -= countMatches(dropped.Lines)
	}
	if c.shown >= c.max {
		last := c.files[0].Path
		c.cutoff.Store(&last)
	}
}

func (c *collector) result() *GrepResult {
	sort.Slice(c.files, func(i, j int) bool { return c.files[i].Path < c.files[j].Path })
	r := &GrepResult{Files: c.files, Shown: c.shown}
	if c.max > 0 && r.Shown > c.max {
		last := &r.Files[len(r.Files)-1]
		last.Lines = withoutLast(last.Lines, r.Shown-c.max, c.context)
		r.Shown = c.max
	}
	return r
}

// withoutLast drops the last n matching lines, and the context that was theirs alone.
func withoutLast(lines []Line, n, context int) []Line {
	end := len(lines)
	for ; n > 0; end-- {
		if lines[end-1].Match {
			n--
		}
	}
	last := end - 1
	for last >= 0 && !lines[last].Match {
		last--
	}
	for end > last+1 && (last < 0 || lines[end-1].Number > lines[last].Number+context) {
		end--
	}
	return lines[:end]
}

func countMatches(lines []Line) int {
	n := 0
	for i := range lines {
		if lines[i].Match {
			n++
		}
	}
	return n
}

// lastFirst is a heap with the greatest path on top.
type lastFirst []FileMatches

func (h lastFirst) Len() int           { return len(h) }
func (h lastFirst) Less(i, j int) bool { return strings.Compare(h[i].Path, h[j].Path) > 0 }
func (h lastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lastFirst) Push(x any)        { *h = append(*h, x.(FileMatches)) }
func (h *lastFirst) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = FileMatches{}
	*h = old[:len(old)-1]
	return last
}
