package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"redline/agent"
	"redline/agent/journal"
	"redline/cmd/internal/config"
	"redline/workspace"
)

const sessionsUsage = "usage: redline sessions list [--all] [-C DIR] | show ID | delete ID…"

func runSessions(_ context.Context, std stdio, args []string) int {
	if asksHelp(std, args, sessionsUsage) {
		return exitOK
	}
	if len(args) == 0 {
		return fail(std, exitUsage, "%s", sessionsUsage)
	}
	store := config.Sessions(std.getenv)
	if store == nil {
		return fail(std, exitFailed, "there is no folder to keep sessions in; set REDLINE_HOME")
	}
	fs := flag.NewFlagSet("redline sessions "+args[0], flag.ContinueOnError)
	var dir string
	all := false
	if args[0] == "list" {
		fs.StringVar(&dir, "C", "", "the sessions of this `folder` instead of the current one")
		fs.BoolVar(&all, "all", false, "the sessions of all folders")
	}
	if code, ok := parse(fs, std, args[1:]); !ok {
		return code
	}
	switch {
	case args[0] == "list" && fs.NArg() == 0:
		return sessionsList(std, store, dir, all)
	case args[0] == "show" && fs.NArg() == 1:
		return sessionsShow(std, store, fs.Arg(0))
	case args[0] == "delete" && fs.NArg() > 0:
		code := exitOK
		for _, id := range fs.Args() {
			if err := store.Delete(id); err != nil {
				code = fail(std, exitFailed, "%v", sessionProblem(err))
			}
		}
		return code
	}
	return fail(std, exitUsage, "%s", sessionsUsage)
}

// sessionProblem says what to do about an error of the store.
func sessionProblem(err error) error {
	if errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("%w; redline sessions list shows what there is", err)
	}
	return err
}

func sessionsList(std stdio, store *journal.Store, dir string, all bool) int {
	var folders []string
	if !all {
		_, folder, err := openFolder(dir)
		if err != nil {
			return fail(std, exitUsage, "%v", err)
		}
		folders = []string{folder}
	}
	infos, err := agent.Saved(store, folders...)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	for _, i := range infos {
		where := ""
		if all {
			where = "  " + strings.Join(i.Folders, ", ")
		}
		fmt.Fprintf(std.out, "%s  %s  %3d turns  %s%s\n", i.ID, i.Updated.Local().Format(time.DateTime), i.Turns, oneLine(i.Title), where)
	}
	if len(infos) == 0 {
		fmt.Fprintln(std.err, "There are no saved sessions here; redline sessions list --all looks everywhere.")
	}
	return exitOK
}

// oneLine makes text fit for a line of a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// sessionsShow prints a session as Markdown.
func sessionsShow(std stdio, store *journal.Store, id string) int {
	info, events, err := agent.SavedEvents(store, id)
	if err != nil {
		return fail(std, exitFailed, "%v", sessionProblem(err))
	}
	out := std.out
	fmt.Fprintf(out, "# %s\n\n%s, %s, mode %s, in %s\n", oneLine(info.Title), info.Created.Local().Format(time.DateTime), info.Model, info.Mode, strings.Join(info.Folders, ", "))
	var answer agent.Transcript
	flush := func() {
		if text := answer.String(); text != "" {
			fmt.Fprintf(out, "\n%s\n", strings.TrimRight(text, "\n"))
		}
		answer = agent.Transcript{}
	}
	for _, ev := range events {
		if d, ok := ev.Body.(agent.MessageDelta); ok {
			answer.Add(d)
			continue
		}
		switch b := ev.Body.(type) {
		case agent.UserMessage:
			flush()
			fmt.Fprintf(out, "\n## %s\n\n> %s\n", ev.TurnID, strings.ReplaceAll(b.Text, "\n", "\n> "))
		case agent.ToolUpdated:
			switch b.Status {
			case agent.CallPending, agent.CallConfirming, agent.CallRunning:
				continue
			}
			flush()
			fmt.Fprintf(out, "\n- %s %s: %s\n", b.Name, oneLine(b.Title), b.Status)
		case agent.ProposalUpdated:
			if b.Proposal.State == workspace.Applying || b.Proposal.Rev > 1 && b.Proposal.State == workspace.Open {
				continue
			}
			flush()
			fmt.Fprintf(out, "\n- proposal %s, %s: %s\n", b.Proposal.ID, b.Proposal.State, oneLine(b.Proposal.Title))
		case agent.TurnEnded:
			flush()
			if b.Err != nil {
				fmt.Fprintf(out, "\n- turn %s: %v\n", b.Status, b.Err)
			}
		}
	}
	flush()
	return exitOK
}
