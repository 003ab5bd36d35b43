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
	out.core, out.exclude = core, exclude
	for _, t := range r.All() {
		if out.Admits(t) {
			out.Add(t)
		}
	}
	return out
}

// Admits reports whether the settings that r was filtered by let t through: for a
// tool that is added later.
func (r *Registry) Admits(t Tool) bool {
	spec := t.Spec()
	return (len(r.core) == 0 || slices.ContainsFunc(r.core, func(e string) bool {
		name, _, _ := strings.Cut(strings.TrimSpace(e), "(")
		return spec.called(name)
	})) && !Excluded(spec, r.exclude)
}

// Excluded reports whether the setting tools.exclude names a tool. An entry that
// ends in "*" names all tools that begin so, such as "server__*".
func Excluded(spec *Spec, exclude []string) bool {
	return slices.ContainsFunc(exclude, func(e string) bool {
		e = strings.TrimSpace(e)
		start, all := strings.CutSuffix(e, "*")
		return spec.called(e) || all && start != "" && strings.HasPrefix(spec.Name, start)
	})
}

// called reports whether settings mean the tool by a name.
func (s *Spec) called(name string) bool {
	return name == s.Name || name == s.DisplayName || name == s.DisplayName+"Tool"
}
