package match

import (
	"regexp"
	"strings"
)

var (
	// commentFrame is what may stand around a remark: comment signs and brackets.
	commentStart = regexp.MustCompile(`^(?:(?://+|#+|--|/\*+|<!--|;+|%|\*|\{/\*)\s*)?[(\[<]?\s*`)
	commentStop  = regexp.MustCompile(`\s*[)\]>]?\s*(?:\*/\}?|-->)?$`)
	ellipsis     = regexp.MustCompile(`\.\.\.+|…`)

	thing    = `(?:code|methods?|functions?|lines?|contents?|implementations?|logic|imports?|file|fields?|props|properties|tests?|cases?|class|body|definitions?|section|text)`
	leftOut  = regexp.MustCompile(`(?i)^(?:(?:the )?(?:rest|remainder) of\b|(?:all )?(?:(?:the )?(?:existing|unchanged|remaining|previous|other|original|same)\b(?: \w+){0,2} ` + thing + `|` + thing + ` (?:unchanged|omitted|continues|remains?|stays?|here|as before))\b)[ \w,]{0,40}$`)
	unmarked = regexp.MustCompile(`(?i)^(?:the )?(?:(?:rest|remainder) of (?:the |this )?\w+(?: \w+)?|(?:existing|remaining|other) ` + thing + `)(?: code)?(?: (?:is|are|remains?|stays?))? (?:unchanged|omitted|the same|as is|as before|as it was)(?: here)?$`)
)

// PlaceholderLine returns the first line of s that stands for code left out, such as "// ... rest of code unchanged",
// trimmed. A bare "..." is not one: that is code in some languages.
func PlaceholderLine(s string) (line string, ok bool) {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if isPlaceholder(line) {
			return line, true
		}
	}
	return "", false
}

func isPlaceholder(line string) bool {
	if len(line) < 8 || len(line) > 160 {
		return false
	}
	if !mayBePlaceholder(line) {
		return false
	}
	framed := commentStart.FindString(line) != ""
	core := commentStop.ReplaceAllString(commentStart.ReplaceAllString(line, ""), "")
	dots := ellipsis.MatchString(core)
	core = strings.TrimSpace(strings.TrimRight(ellipsis.ReplaceAllString(core, " "), " .,:;"))
	core = strings.Join(strings.Fields(core), " ")
	return dots && leftOut.MatchString(core) || framed && unmarked.MatchString(core)
}

// mayBePlaceholder is a cheap necessary condition: dots or a sign that begins a
// comment, which nearly no line of code has, together with a word of the patterns.
func mayBePlaceholder(line string) bool {
	if !strings.Contains(line, "...") && !strings.Contains(line, "…") && !strings.ContainsRune("/#-<;%*{([", rune(line[0])) {
		return false
	}
	line = strings.ToLower(line)
	for _, word := range [...]string{
		"rest", "remain", "existing", "unchanged", "previous", "other", "original", "same", "omitted", "continues", "stay", "here", "as before",
	} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// addedPlaceholder returns a placeholder line of new that is not in old.
func addedPlaceholder(old, new string) (string, bool) {
	var had map[string]bool
	for line := range strings.SplitSeq(new, "\n") {
		line = strings.TrimSpace(line)
		if !isPlaceholder(line) {
			continue
		}
		if had == nil {
			had = map[string]bool{}
			for l := range strings.SplitSeq(old, "\n") {
				had[strings.TrimSpace(l)] = true
			}
		}
		if !had[line] {
			return line, true
		}
	}
	return "", false
}
