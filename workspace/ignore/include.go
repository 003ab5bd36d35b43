package ignore

import (
	"os"
	"path/filepath"
	"strings"
)

// included reports whether the condition of a section `includeIf "CONDITION"` in a file of dir holds, as in git-config(1):
// `gitdir:`, `gitdir/i:` and `onbranch:`. Any other, such as `hasconfig:`, does not.
func (c *configReader) included(condition, dir string) bool {
	kind, pattern, ok := strings.Cut(condition, ":")
	if !ok || c.gitDir == "" {
		return false
	}
	switch kind {
	case "gitdir", "gitdir/i":
		return c.isGitDir(pattern, dir, kind == "gitdir/i")
	case "onbranch":
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		head, _ := readRegular(filepath.Join(c.gitDir, "HEAD"))
		ref, onBranch := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
		return onBranch && wildmatch(pattern, ref, true, false)
	}
	return false
}

// isGitDir matches the repository's directory, as it is called and as it is when symbolic links are followed.
func (c *configReader) isGitDir(pattern, dir string, fold bool) bool {
	pattern = filepath.ToSlash(pattern)
	start := "" // what stands for itself
	switch {
	case strings.HasPrefix(pattern, "./"):
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false
		}
		start, pattern = filepath.ToSlash(real)+"/", pattern[2:]
	case strings.HasPrefix(pattern, "~/"):
		if c.home == "" {
			return false
		}
		pattern = filepath.ToSlash(c.home) + pattern[1:]
	case !filepath.IsAbs(pattern):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") || pattern == "" { // "" is what is left of "./"
		pattern += "**"
	}
	matches := func(gitDir string) bool {
		rest := filepath.ToSlash(gitDir)
		if len(rest) < len(start) || rest[:len(start)] != start && !(fold && strings.EqualFold(rest[:len(start)], start)) {
			return false
		}
		return wildmatch(pattern, rest[len(start):], true, fold)
	}
	abs, err := filepath.Abs(c.gitDir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil && !os.IsNotExist(err) {
		return matches(abs)
	}
	return matches(real) || matches(abs)
}

// condition returns what stands in the quotes of a section `includeif "…"`.
func condition(section string) (string, bool) {
	name, quoted, ok := strings.Cut(section, " ")
	quoted = strings.TrimSpace(quoted)
	if !ok || name != "includeif" || len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return "", false
	}
	var out []byte
	for i := 1; i < len(quoted)-1; i++ {
		if quoted[i] == '\\' && i+1 < len(quoted)-1 {
			i++
		}
		out = append(out, quoted[i])
	}
	return string(out), true
}
