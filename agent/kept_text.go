package agent

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"
)

// keptTexts are the texts that the saved proposals of a session refer to. Each is
// written once, and one that is much like the last one of its file as what differs:
// a proposal is saved with every change of it, and the files may be large.
type keptTexts struct {
	write  func(record)
	names  map[[sha256.Size]byte]int
	last   map[string]keptText // by path
	next   int
	loaded map[int]string // while a session is read
}

type keptText struct {
	name int
	text string
}

func newKeptTexts(write func(record)) *keptTexts {
	return &keptTexts{write: write, names: map[[sha256.Size]byte]int{}, last: map[string]keptText{}, loaded: map[int]string{}}
}

// Put implements [workspace.SavedTexts]. The name 0 is that of the empty text.
func (k *keptTexts) Put(path, t string) int {
	if t == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(t))
	name, ok := k.names[sum]
	if !ok {
		k.next++
		name = k.next
		k.names[sum] = name
		r := record{T: recText, Name: name, Path: path, Text: t}
		if l, ok := k.last[path]; ok {
			if pre, suf := common(l.text, t); pre+suf > len(t)/2 {
				r.Of, r.Pre, r.Suf, r.Text = l.name, pre, suf, t[pre:len(t)-suf]
			}
		}
		if !utf8.ValidString(r.Text) {
			r.Raw, r.Text = []byte(r.Text), ""
		}
		k.write(r)
	}
	k.last[path] = keptText{name, t}
	return name
}

// Get implements [workspace.SavedTexts].
func (k *keptTexts) Get(name int) (string, error) {
	if name == 0 {
		return "", nil
	}
	t, ok := k.loaded[name]
	if !ok {
		return "", fmt.Errorf("text %d is missing", name)
	}
	return t, nil
}

// read takes a text record in.
func (k *keptTexts) read(r record) {
	t := r.Text
	if len(r.Raw) > 0 {
		t = string(r.Raw)
	}
	if r.Of != 0 {
		of, ok := k.loaded[r.Of]
		if !ok || r.Pre < 0 || r.Suf < 0 || r.Pre+r.Suf > len(of) {
			return // what refers to it says that it is missing
		}
		t = of[:r.Pre] + t + of[len(of)-r.Suf:]
	}
	k.next = max(k.next, r.Name)
	k.loaded[r.Name] = t
	k.names[sha256.Sum256([]byte(t))] = r.Name
	k.last[r.Path] = keptText{r.Name, t}
}

// common returns the lengths of the common beginning and end of two texts, which do
// not overlap and do not cut a character.
func common(a, b string) (pre, suf int) {
	n := min(len(a), len(b))
	for pre < n && a[pre] == b[pre] {
		pre++
	}
	for pre > 0 && pre < len(b) && !utf8.RuneStart(b[pre]) {
		pre--
	}
	n -= pre
	for suf < n && a[len(a)-1-suf] == b[len(b)-1-suf] {
		suf++
	}
	for suf > 0 && !utf8.RuneStart(b[len(b)-suf]) {
		suf--
	}
	return pre, suf
}

// renamed returns a line of a session's file for another session: the session's name
// is part of every other name in it.
func renamed(line []byte, from, to string) []byte {
	return []byte(strings.ReplaceAll(string(line), from, to))
}
