package agent

import (
	"context"
	"slices"
	"strings"
)

func (s *Session) canSave() bool { return s.opt.Saver != nil && s.opt.Saver.CanSave() }

// saveFirst has documents saved that a command is to see as they are in the editor,
// if the user agrees, and returns those that were not. Where the user was asked for
// the command itself, that question said so; in yolo mode nothing is asked.
func (s *Session) saveFirst(ctx context.Context, t *turn, c *call, unsaved []string) ([]string, error) {
	if len(unsaved) == 0 || !s.canSave() {
		return unsaved, nil
	}
	if mode, _ := s.settings(); mode != ModeYolo && !c.maySave && !s.maySave {
		names := strings.Join(s.rel(unsaved), ", ")
		kind, err := s.ask(ctx, t, c, Approval{
			Subject: Subject{Type: "path", Tool: c.fc.Name, Paths: unsaved, Unsaved: unsaved},
			Title:   "Save " + names + " before this command runs?",
			Detail:  "The command is allowed, but sees only what is on the disk: `" + strings.ReplaceAll(c.title, "`", "'") + "`",
			Options: []Option{
				{"once", "Save and run", OptionOnce},
				{"session", "Save and run, in this session always", OptionSession},
				{"reject", "Run without saving", OptionReject},
			},
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.status = CallRunning // a no is about the saving only
		if err != nil {
			return unsaved, nil
		}
		s.maySave = s.maySave || kind == OptionSession
	}
	saved := s.opt.Saver.Save(ctx, unsaved)
	return slices.DeleteFunc(slices.Clone(unsaved), func(p string) bool { return slices.Contains(saved, p) }), nil
}
