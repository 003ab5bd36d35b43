// Package models is what redline knows of models by their names: how much they can
// read, how they think, what they cost, and with which parameters they are asked.
//
// Parameters come from aliases and overrides, in the form of Gemini CLI's settings
// key modelConfigs: an alias names a model and parameters and may extend another; an
// override changes what an alias or a model was resolved to. See params.go.
package models

import "strings"

// Thinking is how a model is told how much to think.
type Thinking string

// The ways of thinking.
const (
	ThinkingNone   Thinking = ""       // it does not, or always does as it likes
	ThinkingBudget Thinking = "budget" // thinkingBudget, in tokens: Gemini 2.5
	ThinkingLevel  Thinking = "level"  // thinkingLevel: Gemini 3
)

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input, Cached, Output float64
	// The same for prompts of more than 200,000 tokens; zero: no difference.
	LongInput, LongCached, LongOutput float64
}

// PricesOf is the month in which the prices here were taken from Google's list. They
// are an estimate: nobody is billed by them.
const PricesOf = "2026-03"

// longPrompt is the number of tokens from which prompts cost more.
const longPrompt = 200_000

// Model is what is known of one model.
type Model struct {
	Name     string
	Window   int // tokens that it can read
	Output   int // tokens that it can write in one answer
	Thinking Thinking
	Price    *Price // nil: not known
}

// DefaultWindow is assumed of Gemini models that are not in the table, in tokens;
// DefaultOtherWindow of all others.
const (
	DefaultWindow      = 1_048_576
	DefaultOtherWindow = 131_072
)

// table are the models with known prices, by the longest prefix of a name first: a
// dated or preview name is its base model's.
var table = []Model{
	{"gemini-3.5-flash", 1_048_576, 65_536, ThinkingLevel, &Price{Input: 1.50, Cached: 0.15, Output: 9}},
	{"gemini-3.1-flash-lite", 1_048_576, 65_536, ThinkingLevel, &Price{Input: 0.25, Cached: 0.025, Output: 1.5}},
	{"gemini-3.1-pro", 1_048_576, 65_536, ThinkingLevel, &Price{2, 0.2, 12, 4, 0.4, 18}},
	{"gemini-3-flash", 1_048_576, 65_536, ThinkingLevel, &Price{Input: 0.5, Cached: 0.05, Output: 3}},
	{"gemini-3-pro", 1_048_576, 65_536, ThinkingLevel, &Price{2, 0.2, 12, 4, 0.4, 18}},
	{"gemini-2.5-flash-lite", 1_048_576, 65_536, ThinkingBudget, &Price{Input: 0.1, Cached: 0.01, Output: 0.4}},
	{"gemini-2.5-flash", 1_048_576, 65_536, ThinkingBudget, &Price{Input: 0.3, Cached: 0.03, Output: 2.5}},
	{"gemini-2.5-pro", 1_048_576, 65_536, ThinkingBudget, &Price{1.25, 0.125, 10, 2.5, 0.25, 15}},
	{"gemini-2.0-flash", 1_048_576, 8_192, ThinkingNone, &Price{Input: 0.1, Cached: 0.025, Output: 0.4}},
}

// All returns the models of the table, under the names they can be asked by.
func All() []Model {
	var out []Model
	for _, m := range table {
		switch m.Name {
		case "gemini-3-pro", "gemini-3-flash", "gemini-3.1-pro", "gemini-3.1-flash-lite":
			m.Name += "-preview"
		}
		out = append(out, m)
	}
	return out
}

// Lookup returns what is known of the model with the given name; known is false when
// only its kind can be told.
func Lookup(name string) (m Model, known bool) {
	for _, m := range table {
		// What follows must be a variant of the same model, such as "-preview-05-06",
		// and not another one, such as "-image".
		rest, ok := strings.CutPrefix(name, m.Name)
		if ok && (rest == "" || variant(rest)) {
			m.Name = name
			return m, true
		}
	}
	m = Model{Name: name, Window: DefaultOtherWindow}
	if strings.HasPrefix(name, "gemini-") {
		m.Window = DefaultWindow
		m.Thinking = family(name)
	}
	return m, false
}

// variant reports whether rest is a version of the model before it.
func variant(rest string) bool {
	for word := range strings.SplitSeq(strings.TrimPrefix(rest, "-"), "-") {
		if word != "preview" && word != "latest" && word != "exp" && word != "customtools" && strings.Trim(word, "0123456789") != "" {
			return false
		}
	}
	return rest[0] == '-'
}

// family tells by its name how a Gemini model thinks.
func family(name string) Thinking {
	for _, other := range []string{"embedding", "image", "tts", "live", "audio"} {
		if strings.Contains(name, other) {
			return ThinkingNone
		}
	}
	version := strings.TrimPrefix(name, "gemini-")
	switch {
	case strings.HasPrefix(version, "2.5"):
		return ThinkingBudget
	case version != "" && version[0] >= '3' && version[0] <= '9':
		return ThinkingLevel
	}
	return ThinkingNone
}

// Tokens are the tokens of one request.
type Tokens struct {
	Input    int // of the prompt, cached ones included
	Cached   int
	Output   int
	Thoughts int
}

// Cost returns what a request to a model costs in US dollars; ok is false when its
// price is not known.
func Cost(name string, t Tokens) (usd float64, ok bool) {
	m, _ := Lookup(name)
	if m.Price == nil {
		return 0, false
	}
	p := *m.Price
	if t.Input > longPrompt && p.LongInput > 0 {
		p.Input, p.Cached, p.Output = p.LongInput, p.LongCached, p.LongOutput
	}
	cached := min(t.Cached, t.Input)
	return (float64(t.Input-cached)*p.Input + float64(cached)*p.Cached + float64(t.Output+t.Thoughts)*p.Output) / 1e6, true
}

// Flash returns the model to fall back to from one whose quota is used up; empty
// when it is a Flash model already, or no Gemini.
func Flash(name string) string {
	if !strings.HasPrefix(name, "gemini-") || strings.Contains(name, "flash") {
		return ""
	}
	return "gemini-2.5-flash"
}
