package shell

import (
	"slices"
	"strings"
)

// Policy holds command prefixes such as "git status". A prefix stands for all commands that begin with its words: it
// matches "git status --short", not "git stash" and not "git statusx".
type Policy struct {
	Allow []string // run without asking
	Deny  []string // never run; goes before Allow
	// AllowAll lets every line run that can be taken apart and has nothing to do with Deny.
	AllowAll bool
}

// Decision is what a policy says about a command line.
type Decision struct {
	// Confirm says that the user must be asked. It is set unless every command of the line is allowed.
	Confirm bool
	// Blocked says that the line must not run at all. Confirm is set as well.
	Blocked bool
	// Suspected says that a denied command may be in the line without standing there plainly: to be asked for in every
	// mode. Confirm is set as well.
	Suspected bool
	// Reason says in a few words why, for the user: "rm is not allowed yet".
	Reason string
	// Roots is the name of each command in the line, at any depth, in order, as it is written. It is nil when the line
	// cannot be parsed.
	Roots []string
	// Prefixes is what the user would have to allow for the line to run without asking, without duplicates; nil when
	// no prefix can do that.
	Prefixes []string
}

// Decide judges a command line. It never allows a line with anything in it that could run or write what the prefixes
// do not show: an assignment, a redirection to or from a file, a command whose name is computed, a wrapper such as
// sudo, xargs, eval or sh -c.
func (p Policy) Decide(line string) (d Decision) {
	s, err := parse(line)
	if err != nil {
		return Decision{Confirm: true, Suspected: len(p.Deny) > 0, Reason: err.Error()}
	}
	if p.AllowAll {
		defer func() {
			if d.Confirm && !d.Blocked && !d.Suspected {
				d.Confirm, d.Reason = false, ""
			}
		}()
	}
	why := s.unsafe
	for _, c := range s.commands {
		d.Roots = append(d.Roots, c.name)
		if deny, hard := p.denies(c, 0); deny != "" {
			d.Confirm = true
			d.Suspected = d.Suspected || !hard
			if hard {
				d.Blocked = true
				d.Reason = deny + " is denied"
			} else if why == "" {
				why = "it looks like " + deny + ", which is denied"
			}
		}
		if c.unsafe != "" && why == "" {
			why = c.unsafe
		}
		if len(p.Deny) > 0 && c.hides() {
			d.Suspected = true
		}
	}
	if len(s.commands) == 0 && why == "" {
		why = "there is no command in it"
	}
	if why == "" {
		inline := false
		for _, c := range s.commands {
			prefix := c.prefix()
			inline = inline || c.inline
			if !slices.Contains(d.Prefixes, prefix) {
				d.Prefixes = append(d.Prefixes, prefix)
			}
			if !p.allows(c) && !d.Confirm {
				d.Confirm = true
				d.Reason = prefix + " is not allowed yet"
			}
		}
		if inline {
			d.Prefixes = nil
		}
		return d
	}
	d.Confirm = true
	if d.Reason == "" {
		d.Reason = why
	}
	return d
}

// allows reports whether a prefix of the policy allows the command.
func (p Policy) allows(c command) bool {
	return slices.ContainsFunc(p.Allow, func(prefix string) bool {
		words := strings.Fields(prefix)
		if c.script && len(words) < 2 {
			return false // allowing "bash" is not allowing any script
		}
		return c.begins(words)
	})
}

// denies returns the prefix that denies the command, "" if none does. With hard unset the command only may be meant.
func (p Policy) denies(c command, depth int) (prefix string, hard bool) {
	for _, deny := range p.Deny {
		words := strings.Fields(deny)
		if len(words) == 0 {
			continue
		}
		if c.begins(words) || c.base().begins(words) {
			return deny, true
		}
		if c.wraps {
			for i := 1; i < len(c.words); i++ {
				inner := command{words: c.words[i:]}
				if inner.begins(words) || inner.base().begins(words) {
					return deny, true
				}
			}
		}
		if c.base().mentions(words) {
			prefix = deny
		}
	}
	// What eval, sh -c and the like are given is a command line again.
	if c.wraps && depth < 4 {
		for _, w := range c.words[1:] {
			if !w.static || !strings.ContainsAny(w.text, " ;&|()`$\n") {
				continue
			}
			s, err := parse(w.text)
			if err != nil {
				continue
			}
			for _, inner := range s.commands {
				if deny, hard := p.denies(inner, depth+1); hard {
					return deny, true
				}
			}
		}
	}
	return prefix, false
}
