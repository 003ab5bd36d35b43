package agent

import (
	"context"
	"path"
	"strings"

	"redline/workspace"
	"redline/workspace/search"
)

// maxTree is how many entries of the tree the model is told at the start.
const maxTree = 200

// tree returns an outline of the folders: what is near the top first, at most
// maxTree entries, ignored ones left out. It lists no more folders than it shows.
func tree(ctx context.Context, s *workspace.Snapshot) string {
	var b strings.Builder
	left := maxTree
	for _, root := range s.Folders() {
		type dir struct {
			rel      string
			children []search.ListEntry
			cut      int // children not shown
		}
		dirs := map[string]*dir{}
		queue := []string{""}
		for len(queue) > 0 && left > 0 && ctx.Err() == nil {
			rel := queue[0]
			queue = queue[1:]
			entries, err := search.List(ctx, search.Scope{Root: root, Dir: rel})
			if err != nil {
				continue // unreadable, or gone meanwhile
			}
			d := &dir{rel: rel}
			dirs[rel] = d
			for _, e := range entries {
				if e.Verdict.Ignored {
					continue
				}
				if left == 0 {
					d.cut++
					continue
				}
				left--
				d.children = append(d.children, e)
				if e.Dir {
					queue = append(queue, path.Join(rel, e.Name))
				}
			}
		}
		b.WriteString(root + "/\n")
		var show func(d *dir, indent string)
		show = func(d *dir, indent string) {
			for _, e := range d.children {
				b.WriteString(indent + strings.ToValidUTF8(strings.NewReplacer("\n", "?", "\r", "?").Replace(e.Name), "?"))
				if !e.Dir {
					b.WriteByte('\n')
					continue
				}
				sub, listed := dirs[path.Join(d.rel, e.Name)]
				if !listed {
					b.WriteString("/…\n")
					continue
				}
				b.WriteString("/\n")
				show(sub, indent+"  ")
			}
			if d.cut > 0 {
				b.WriteString(indent + "…\n")
			}
		}
		if d := dirs[""]; d != nil {
			show(d, "  ")
		}
	}
	return b.String()
}
