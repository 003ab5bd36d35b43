package tools_test

import (
	"strings"
	"testing"

	"redline/tools"
)

func TestFilter(t *testing.T) {
	all := tools.NewRegistry(tools.ReadFile, tools.Glob, tools.RunShellCommand)
	for _, c := range []struct{ core, exclude, want string }{
		{"", "", "read_file glob run_shell_command"},
		{"read_file,GlobTool", "", "read_file"},
		{"FindFiles,ReadFileTool", "", "read_file glob"},
		{"run_shell_command(ls),glob", "", "glob run_shell_command"},
		{"", "Shell", "read_file glob"},
		{"", "run_shell_command(rm)", "read_file glob run_shell_command"},
		{"read_file", "read_file", ""},
		{"", "r*", "glob"},
		{"", "*", "read_file glob run_shell_command"},
	} {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		var got []string
		for _, x := range all.Filter(split(c.core), split(c.exclude)).All() {
			got = append(got, x.Spec().Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("core %q, exclude %q: %q, want %q", c.core, c.exclude, got, c.want)
		}
	}
}
