package agent

import (
	"context"
	"strings"

	"redline/agent/model"
	"redline/tools"
	"redline/workspace"

	"google.golang.org/genai"
)

// mentioned returns the files, folders and globs that a prompt names with an @ in
// front, as far as they are there, and what resource takes for one of another kind: "look at @src/main.go". A space in a path is
// written "\ ". Signs that end a sentence are no part of it unless the file is
// called so.
func mentioned(v *workspace.View, text string, resource func(string) (string, bool)) (paths, resources []string) {
	seen := map[string]bool{}
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || (i > 0 && !strings.ContainsRune(" \t\r\n([{\"'`", rune(text[i-1]))) {
			continue // as in a mail address
		}
		end := i + 1
		var b strings.Builder
		for ; end < len(text); end++ {
			c := text[end]
			if c == '\\' && end+1 < len(text) && text[end+1] == ' ' {
				end++
				c = ' '
			} else if strings.IndexByte(" \t\r\n\"'`@", c) >= 0 {
				break
			}
			b.WriteByte(c)
		}
		if r, ok := resource(b.String()); ok {
			if !seen[r] {
				seen[r] = true
				resources = append(resources, r)
			}
			i = end - 1
			continue
		}
		for path := b.String(); path != ""; {
			if exists(v, path) {
				if !seen[path] {
					seen[path] = true
					paths = append(paths, path)
				}
				break
			}
			short := strings.TrimRight(path, ".,;:!?)]}")
			if short == path {
				break
			}
			path = path[:len(path)-1]
		}
		i = end - 1
	}
	return paths, resources
}

func exists(v *workspace.View, path string) bool {
	if strings.Contains(path, "*") {
		return true // a glob; what it matches is seen when it is read
	}
	abs, err := v.Resolve(path)
	return err == nil && v.Exists(abs)
}

// attach returns the contents of what a prompt mentions, read as read_many_files
// reads it, and shows that it was.
func (s *Session) attach(ctx context.Context, t *turn, text string) []model.Part {
	v := s.newView()
	paths, resources := mentioned(v, text, s.resource)
	others := s.attachResources(ctx, t, resources)
	if len(paths) == 0 {
		return others
	}
	res, err := tools.ReadMany(ctx, s.mentionView(v, paths), paths)
	if err != nil {
		return nil // only the context's, which ends the turn
	}
	s.emit(t.id, Notice{"info", res.Display + " for " + strings.Join(paths, ", ")})
	parts := []model.Part{model.Text("[Contents of what the prompt mentions with @]\n" + res.Text)}
	for _, m := range res.Media {
		parts = append(parts, model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: m.MIMEType, Data: m.Data}}))
	}
	return append(parts, others...)
}
