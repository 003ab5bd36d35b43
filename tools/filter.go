package tools

import (
	"slices"
	"strings"
)

// Filter returns a registry of the tools of r that settings let through: those in
// core, if it names any, without those in exclude. Tools are named by what the
// model calls or by their display names; an entry with parentheses, such as
// "run_shell_command(git push)", restricts a tool and does not exclude it.
func (r *Registry) Filter(core, exclude []string) *Registry {
	out := NewRegistry()
	for _, t := range r.All() {
		spec := t.Spec()
		names := []string{spec.Name, spec.DisplayName, spec.DisplayName + "Tool"}
		if len(core) > 0 && !slices.ContainsFunc(core, func(e string) bool {
			name, _, _ := strings.Cut(strings.TrimSpace(e), "(")
			return slices.Contains(names, name)
		}) {
			continue
		}
		if slices.ContainsFunc(exclude, func(e string) bool { return slices.Contains(names, strings.TrimSpace(e)) }) {
			continue
		}
		out.Add(t)
	}
	return out
}
