package blob

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPutGet(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "x")}
	for _, data := range [][]byte{nil, {0, 1, 2, 255}, bytes.Repeat([]byte("line\n"), 100_000)} {
		name, err := s.Put(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Put(data)
		if err != nil || again != name {
			t.Errorf("put twice: %q and %q (%v)", name, again, err)
		}
		got, err := s.Get(name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %d bytes of %d (%v)", len(got), len(data), err)
		}
		path, _ := s.path(name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() > int64(len(data))/10+100 {
			t.Errorf("%d bytes are kept as %v (%v)", len(data), info, err)
		}
		if err := os.WriteFile(path, []byte("damage"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(name); !errors.Is(err, ErrGone) {
			t.Errorf("damaged: %v", err)
		}
	}
	for _, bad := range []string{"", "../../etc/passwd", "zz"} {
		if _, err := s.Get(bad); err == nil {
			t.Errorf("got %q", bad)
		}
	}
}

// The store stays within its bound, and what was used last stays.
func TestBounded(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	s.SetMax(100_000)
	rnd := rand.New(rand.NewPCG(1, 2))
	var names []string
	for i := range 60 {
		data := make([]byte, 10_000)
		for j := range data {
			data[j] = byte(rnd.Uint32())
		}
		name, err := s.Put(data)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		path, _ := s.path(name)
		at := time.Now().Add(time.Duration(i-100) * time.Hour)
		_ = os.Chtimes(path, at, at)
	}
	kept := 0
	for i, name := range names {
		_, err := s.Get(name)
		if err == nil {
			kept++
		}
		if i > 55 && err != nil {
			t.Errorf("content %d of %d: %v", i, len(names), err)
		}
	}
	if kept < 8 || kept > 12 {
		t.Errorf("%d of %d contents are kept", kept, len(names))
	}
}
