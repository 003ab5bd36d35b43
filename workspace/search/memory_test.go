package search

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMemoryIsFlat searches a tree and one of ten times as many files: what is
// allocated for each further file is little, and nothing of it stays.
func TestMemoryIsFlat(t *testing.T) {
	noGlobalGit(t)
	const few, many = 300, 3000
	trees := map[int]string{few: t.TempDir(), many: t.TempDir()}
	for n, root := range trees {
		for i := range n {
			write(t, filepath.Join(root, fmt.Sprint("dir", i%20), fmt.Sprintf("file%d.txt", i)), "some words\nin two lines\n")
		}
	}
	for name, search := range map[string]func(root string) (any, error){
		"grep, nothing found": func(root string) (any, error) {
			return Grep(context.Background(), GrepOptions{Scope: Scope{Root: root}, Pattern: "nosuch"})
		},
		"grep, all found": func(root string) (any, error) {
			return Grep(context.Background(), GrepOptions{Scope: Scope{Root: root}, Pattern: "words", MaxMatches: 100})
		},
		"glob, nothing found": func(root string) (any, error) {
			return Glob(context.Background(), GlobOptions{Scope: Scope{Root: root}, Pattern: "**/*.go", Limit: 100})
		},
		"glob, all found": func(root string) (any, error) {
			return Glob(context.Background(), GlobOptions{Scope: Scope{Root: root}, Pattern: "**/*", Limit: 100})
		},
	} {
		t.Run(name, func(t *testing.T) {
			measure := func(root string) (allocated, kept int64) {
				if _, err := search(root); err != nil { // what is made once is made now
					t.Fatal(err)
				}
				var before, after, held runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				result, err := search(root)
				if err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				runtime.GC()
				runtime.ReadMemStats(&held)
				runtime.KeepAlive(result)
				return int64(after.TotalAlloc - before.TotalAlloc), int64(held.HeapAlloc) - int64(before.HeapAlloc)
			}
			allocFew, keptFew := measure(trees[few])
			allocMany, keptMany := measure(trees[many])
			perFile := (allocMany - allocFew) / (many - few)
			t.Logf("%d bytes allocated for each further file; %d kept of %d files, %d of %d", perFile, keptFew, few, keptMany, many)
			if perFile > 1024 {
				t.Errorf("%d bytes are allocated for each further file", perFile)
			}
			if keptMany-keptFew > 64<<10 {
				t.Errorf("%d bytes are kept of %d files, %d of %d", keptFew, few, keptMany, many)
			}
		})
	}
}
