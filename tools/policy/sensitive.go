package policy

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// DefaultSensitive are the files whose content the model gets only when the user says
// so each time. A later entry with a leading "!" takes out what an earlier one fits.
// The setting redline.sensitiveFiles adds to the list.
var DefaultSensitive = []string{
	".env", ".env.*", "*.env", ".envrc", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist", "!.env.defaults", "!example.env", "!sample.env",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".ssh", ".gnupg",
	".npmrc", ".yarnrc.yml", ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials",
	"credentials", "credentials.json", "credentials.toml", "client_secret*.json", "service-account*.json", "service_account*.json",
	"application_default_credentials.json", ".docker/config.json", ".kube", "kubeconfig", "*.tfstate", "*.tfvars",
	"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", ".vault-token",
}

// Sensitive is a list of sensitive files. The zero value is [DefaultSensitive].
type Sensitive struct {
	list *sensitiveList
}

type sensitiveList struct {
	globs []sensitiveGlob

	// What a name on a path must look like for any of the globs to fit: nearly all
	// do not, and searches ask of every file.
	names    map[string]bool // whole names, in small letters
	suffixes map[string]bool // of names: what follows the last dot
	others   []glimpse
}

type sensitiveGlob struct {
	Glob
	out bool // takes out
}

// glimpse is how the names begin and end that a glob fits.
type glimpse struct{ prefix, suffix string }

var defaultList = sync.OnceValue(func() *sensitiveList {
	l, err := newList(nil, DefaultSensitive, false)
	if err != nil {
		panic(err) // a constant list, covered by a test
	}
	return l
})

// With returns the list and what settings add to it. With strict the additions cannot
// take anything out: they are a project's that nobody trusts.
func (s Sensitive) With(more []string, strict bool) (Sensitive, error) {
	l, err := newList(s.get().globs, more, strict)
	if err != nil {
		return s, err
	}
	return Sensitive{l}, nil
}

func newList(before []sensitiveGlob, more []string, strict bool) (*sensitiveList, error) {
	l := &sensitiveList{globs: slices.Clone(before), names: map[string]bool{}, suffixes: map[string]bool{}}
	for _, entry := range more {
		pattern, neg := strings.CutPrefix(entry, "!")
		if neg && strict {
			continue
		}
		g, err := newGlob(pattern)
		if err != nil {
			return nil, err
		}
		l.globs = append(l.globs, sensitiveGlob{g, neg})
	}
	for _, g := range l.globs {
		if !g.out {
			l.expect(path.Base(g.pattern))
		}
	}
	return l, nil
}

// expect notes what names the last part of a pattern fits.
func (l *sensitiveList) expect(name string) {
	const special = `*?[]{}\`
	ext, isExt := strings.CutPrefix(name, "*.")
	switch i, j := strings.IndexAny(name, special), strings.LastIndexAny(name, special); {
	case i < 0:
		l.names[name] = true
	case isExt && !strings.ContainsAny(ext, special+"."):
		l.suffixes[ext] = true
	case strings.ContainsAny(name, `[]{}\`):
		l.others = append(l.others, glimpse{})
	default:
		l.others = append(l.others, glimpse{name[:i], name[j+1:]})
	}
}

// mayFit reports whether any of the globs may fit a path in small letters.
func (l *sensitiveList) mayFit(p string) bool {
	for p != "" {
		i := strings.LastIndexByte(p, '/')
		name := p[i+1:]
		if l.names[name] || l.suffixes[name[strings.LastIndexByte(name, '.')+1:]] {
			return true
		}
		for _, g := range l.others {
			if strings.HasPrefix(name, g.prefix) && strings.HasSuffix(name, g.suffix) {
				return true
			}
		}
		p = p[:max(i, 0)]
	}
	return false
}

func (s Sensitive) get() *sensitiveList {
	if s.list == nil {
		return defaultList()
	}
	return s.list
}

// Match reports whether a file is sensitive.
func (s Sensitive) Match(p Path) bool {
	l := s.get()
	on := p.Rel
	if on == "" {
		on = p.Abs
	}
	if !l.mayFit(strings.ToLower(on)) {
		return false
	}
	found := false
	for _, g := range l.globs {
		if found == g.out && g.Match(p) {
			found = !g.out
		}
	}
	return found
}
