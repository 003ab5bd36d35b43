package match_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"redline/workspace/match"
)

// editCase is a line of edits.jsonl: what a model asked for, and what must come of it.
type editCase struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Class    string   `json:"class"`
	Before   *string  `json:"file_before"`
	Old      string   `json:"old_string"`
	New      string   `json:"new_string"`
	Expected *int     `json:"expected_replacements"`
	Must     string   `json:"must"`
	After    *string  `json:"file_after"`
	AlsoOK   []string `json:"also_ok"`
}

// casesFile opens a file of the shared case set, or skips the test when the set is not on this machine.
func casesFile(t *testing.T, name string) *os.File {
	t.Helper()
	dir := os.Getenv("REDLINE_CASES")
	if dir == "" {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, "..", "shared", "cases")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		t.Skipf("no case set: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// answer does what the replace tool does around Find: an empty old text creates a file.
func answer(c editCase) (applied bool, after *string, err error) {
	if c.Old == "" {
		if c.Before == nil {
			return true, &c.New, nil
		}
		return false, c.Before, nil
	}
	if c.Before == nil {
		return false, nil, nil
	}
	expected := 1
	if c.Expected != nil {
		expected = *c.Expected
	}
	r, err := match.Find(*c.Before, c.Old, c.New, expected)
	if err != nil {
		return false, c.Before, err
	}
	got := match.Apply(*c.Before, r.Edits)
	return true, &got, nil
}

// TestCases measures against the shared case set. The bounds are the product's: see SPEC.md B6.
func TestCases(t *testing.T) {
	f := casesFile(t, "edits.jsonl")
	var results *json.Encoder
	if out := os.Getenv("REDLINE_RESULTS"); out != "" {
		w, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		results = json.NewEncoder(w)
	}
	counts := map[string]map[string]int{"strict": {}, "recover": {}, "trap": {}}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var c editCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		applied, after, err := answer(c)
		if results != nil {
			results.Encode(map[string]any{"id": c.ID, "applied": applied, "file_after": after, "ms": float64(time.Since(began).Microseconds()) / 1000})
		}
		o := outcome(c, applied, after)
		n := counts[c.Class]
		n["all"]++
		n[o]++
		if o != "right" {
			t.Logf("%s %s %s: %s (%v)", c.Class, c.Kind, c.ID, o, err)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	share := func(class, outcome string) float64 {
		return 100 * float64(counts[class][outcome]) / float64(counts[class]["all"])
	}
	t.Logf("strict %v, recover %v, trap %v", counts["strict"], counts["recover"], counts["trap"])
	if got := share("strict", "right"); got != 100 {
		t.Errorf("strict: %.1f%% right, want 100%%", got)
	}
	if got := share("recover", "right"); got < 97 {
		t.Errorf("recover: %.1f%% right, want 97%%", got)
	}
	if got := share("recover", "wrong"); got > 0.5 {
		t.Errorf("recover: %.1f%% wrong, want at most 0.5%%", got)
	}
	if got := share("trap", "wrong"); got > 0.5 {
		t.Errorf("trap: %.1f%% at a wrong place, want at most 0.5%%", got)
	}
}

// outcome judges an answer: right, missed (refused what could be done), space (right but for whitespace), wrong.
func outcome(c editCase, applied bool, after *string) string {
	good := slices.Clone(c.AlsoOK)
	if c.Must == "apply" && c.After != nil {
		good = append(good, *c.After)
	}
	if !applied {
		if c.Must == "reject" {
			return "right"
		}
		return "missed"
	}
	if slices.Contains(good, *after) {
		return "right"
	}
	for _, g := range good {
		if squeeze(g) == squeeze(*after) {
			return "space"
		}
	}
	return "wrong"
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
