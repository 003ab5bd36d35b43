package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"redline/workspace"
)

// maxCommandLine is the longest command line that is taken, in bytes.
const maxCommandLine = 32 << 10

// RunShellCommand is the tool run_shell_command. It returns the command as data:
// whether it runs, and how, is for its caller to decide.
var RunShellCommand = define(Spec{
	Name:        "run_shell_command",
	DisplayName: "Shell",
	Kind:        KindExecute,
	Description: `Runs a command line with bash -c, without input; the user may have to approve it. ` +
		`Returns its output, exit code or signal, and background processes. It sees files as saved on disk. ` +
		`Set is_background for servers and watchers, whose output goes to a file. Prefer the file tools to cat, grep, find, sed and echo.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"command":{"type":"string","description":"The command line."},
"description":{"type":"string","description":"What it is for, in one sentence for the user."},
"directory":{"type":"string","description":"Directory to run in; the workspace root by default."},
"is_background":{"type":"boolean","description":"Leave it running and return at once; false by default."}},
"required":["command"]}`),
	Aliases: map[string]string{"dir_path": "directory", "run_in_background": "is_background"},
}, prepareRunShellCommand)

type runShellCommandParams struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Directory   string `json:"directory"`
	Background  bool   `json:"is_background"`
}

func prepareRunShellCommand(v *workspace.View, p runShellCommandParams) (*Call, error) {
	switch {
	case strings.TrimSpace(p.Command) == "":
		return nil, errors.New("the command is empty")
	case len(p.Command) > maxCommandLine:
		return nil, fmt.Errorf("the command is longer than %d KB; write a script with write_file and run that", maxCommandLine>>10)
	case strings.ContainsRune(p.Command, 0):
		return nil, errors.New("the command holds a NUL byte")
	}
	dir := p.Directory
	if strings.TrimSpace(dir) == "" {
		dir = "."
	}
	abs, err := v.Resolve(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, readError(abs, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory; give one to run the command in", abs)
	}
	title := p.Command
	if abs != v.Folders()[0] {
		title += " [in " + v.Rel(abs) + "]"
	}
	if p.Description != "" {
		title += " (" + strings.TrimSpace(p.Description) + ")"
	}
	return &Call{Title: title, Run: func(context.Context) (*Result, error) {
		return &Result{Command: &Command{Line: p.Command, Dir: abs, Description: p.Description, Background: p.Background}}, nil
	}}, nil
}
