package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls string // one letter each
		at    int    // the number of the call that is a loop; 0: none
		kind  Kind
	}{
		{"four of a kind", "aaaa", 0, None},
		{"five of a kind", "aaaaa", 5, Call},
		{"five after others", "bcaaaaa", 7, Call},
		{"not in a row", "aabaabcaab", 0, None},
		{"two in turn", "ababababab", 10, Cycle},
		{"two in turn, not long enough", "abababab", 0, None},
		{"three in turn", "abcabcabcabcabc", 15, Cycle},
		{"five in turn", strings.Repeat("abcde", 5), 25, Cycle},
		{"six in turn", strings.Repeat("abcdef", 6), 0, None},
		{"edit and test", "aTbTcTdTeTfT", 0, None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d Detector
			for i, c := range tt.calls {
				kind := d.AddCall("f", json.RawMessage(fmt.Sprintf(`{"x": %q}`, string(c))))
				if want := i+1 == tt.at; (kind != None) != want || want && kind != tt.kind {
					t.Fatalf("call %d: %q", i+1, kind)
				}
			}
		})
	}
}

func TestCallsAreComparedAsJSON(t *testing.T) {
	var d Detector
	kind := None
	for i := range 5 {
		args := `{"a":1,"b":{"c":2,"d":9007199254740993}}`
		if i%2 == 1 {
			args = `{ "b": {"d": 9007199254740993, "c": 2}, "a": 1 }`
		}
		kind = d.AddCall("f", json.RawMessage(args))
	}
	if kind != Call {
		t.Errorf("got %q", kind)
	}
	d.Reset()
	for i := range 20 {
		if kind := d.AddCall("f", json.RawMessage(fmt.Sprintf(`{"n":%d}`, 9007199254740992+i))); kind != None {
			t.Fatalf("different numbers: %q", kind)
		}
	}
}

// feed streams a text in pieces of n bytes and returns after how many bytes a loop
// was seen, -1 when none was.
func feed(s string, n int) int {
	var d Detector
	for i := 0; i < len(s); i += n {
		if loop, length, period := d.AddText(s[i:min(i+n, len(s))]); loop {
			end := min(i+n, len(s))
			if length > end || period == 0 || s[end-period:end] != s[end-2*period:end-period] {
				return -2
			}
			return end
		}
	}
	return -1
}

func TestTextLoops(t *testing.T) {
	paragraph := strings.Join(strings.Fields(`I will now look at the file again to see whether the function is there.
		Then I will decide what to do about it, since the tests fail.`), " ") + "\n\n"
	list := "Steps:\n\n- read the file\n- change the function\n- run the tests\n\nLet me start.\n\n"
	for name, tt := range map[string]struct {
		unit   string
		before string
		within int // bytes of repetition until it must be seen
	}{
		"a word":              {"okay ", "Well, ", 1500},
		"a sentence":          {"I will try again. ", "So it is. ", 1500},
		"a line":              {"Let me check that.\n", "First some text.\n", 1500},
		"a paragraph":         {paragraph, "Intro.\n\n", 10*len(paragraph) + 1100},
		"another script":      {"もう一度確認します。", "はい。", 1500},
		"a list with a frame": {list, "", 100 << 10},
		"code":                {"x = 0;\n", "```c\n", 100 << 10},
		"table rows":          {"| a | b |\n", "", 100 << 10},
	} {
		for _, n := range []int{1, 7, 100, 5000} {
			s := tt.before + strings.Repeat(tt.unit, 200<<10/len(tt.unit))
			if at := feed(s, n); at < 0 || at > len(tt.before)+tt.within+n {
				t.Errorf("%s in pieces of %d: seen after %d bytes", name, n, at)
			}
		}
	}
}

// What repeats by its nature is no loop.
func TestNoFalseStops(t *testing.T) {
	var goodList, table, code, yaml, data, checklist, log strings.Builder
	table.WriteString("| name | value |\n|------|-------|\n")
	code.WriteString("```go\n")
	data.WriteString("```json\n[\n")
	for i := range 400 {
		fmt.Fprintf(&goodList, "%d. Check the file number %d and say what is in it.\n", i, i)
		table.WriteString("| same | same |\n")
		code.WriteString("\tfmt.Println(\"hello\")\n")
		yaml.WriteString("    - name: x\n      value: y\n")
		data.WriteString("  0, 0, 0, 0, 0, 0, 0, 0,\n")
		checklist.WriteString("- [ ] todo\n")
		fmt.Fprintf(&log, "2026-01-01 10:00:%02d INFO request handled in %d ms\n", i%60, i*7%13)
	}
	for name, s := range map[string]string{
		"a numbered list":      goodList.String(),
		"a table":              table.String(),
		"code in a fence":      code.String() + "```\n",
		"indented yaml":        yaml.String(),
		"data in a fence":      data.String(),
		"a check list":         checklist.String(),
		"a log":                log.String(),
		"dividers":             strings.Repeat("=", 3000) + "\n" + strings.Repeat("-", 3000) + "\n",
		"a line of dots":       strings.Repeat(".", 5000),
		"blank lines":          strings.Repeat("\n", 5000),
		"a few repetitions":    strings.Repeat("Row, row, row your boat. ", 8) + "\n",
		"alternating headings": strings.Repeat("## Same\n\ntext\n\n", 100),
		"a long list of words": strings.Repeat("- alpha\n- beta\n", 500),
	} {
		for _, n := range []int{1, 13, 1000} {
			if at := feed(s, n); at != -1 {
				t.Errorf("%s in pieces of %d: held for a loop after %d bytes", name, n, at)
			}
		}
	}
}

// The sources and documents of this repository are no loops, as prose or as code.
func TestRepositoryIsNoLoop(t *testing.T) {
	n := 0
	_ = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "out" || d.Name() == "testdata") { // bad input there repeats itself on purpose
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".ts", ".lua", ".txtar", ".json":
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1<<20 {
			return nil
		}
		n++
		if at := feed(string(data), 40); at != -1 {
			t.Errorf("%s: held for a loop after %d bytes", path, at)
		}
		return nil
	})
	if n < 100 {
		t.Errorf("only %d files were looked at", n)
	}
}

func BenchmarkText(b *testing.B) {
	pieces := make([]string, 20_000)
	for i := range pieces {
		pieces[i] = fmt.Sprint("word ", i, " ")
	}
	for b.Loop() {
		var d Detector
		for _, p := range pieces {
			if loop, _, _ := d.AddText(p); loop {
				b.Fatal("a loop")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/20000pieces")
}

func FuzzText(f *testing.F) {
	f.Add("abc ", 3, 200)
	f.Fuzz(func(t *testing.T, unit string, n, times int) {
		if n < 1 || times < 0 || len(unit)*times > 1<<20 {
			return
		}
		if at := feed(strings.Repeat(unit, times), n); at == -2 {
			t.Fatal("the end does not repeat as reported")
		}
	})
}
