package blob

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errDead = errors.New("the machine is off")

// dyingDisk works until its machine dies in the middle of an operation; off then does
// to the files what a loss of power may do at worst.
type dyingDisk struct {
	osDisk
	left  int // operations before the death; negative: none comes
	ops   int
	dirty map[string]bool   // files whose bytes are not on the disk
	names map[string]string // new names that are not on the disk, and their folder
}

func newDyingDisk(left int) *dyingDisk {
	return &dyingDisk{left: left, dirty: make(map[string]bool), names: make(map[string]string)}
}

// step reports whether the operation is after the death, or the one it dies in.
func (d *dyingDisk) step() (dead, now bool) {
	d.ops++
	if d.left < 0 {
		return false, false
	}
	return d.ops > d.left, d.ops == d.left+1
}

func (d *dyingDisk) MkdirAll(dir string) error {
	if dead, _ := d.step(); dead {
		return errDead
	}
	if _, err := os.Stat(dir); err != nil {
		d.names[dir] = filepath.Dir(dir)
	}
	return d.osDisk.MkdirAll(dir)
}

func (d *dyingDisk) Create(dir string) (File, error) {
	if dead, _ := d.step(); dead {
		return nil, errDead
	}
	f, err := d.osDisk.Create(dir)
	if err != nil {
		return nil, err
	}
	d.dirty[f.Name()] = true
	return dyingFile{f, d}, nil
}

func (d *dyingDisk) Rename(from, to string) error {
	dead, now := d.step()
	if dead && !now {
		return errDead
	}
	// The death in the middle of it: nobody learns that it was done.
	if err := d.osDisk.Rename(from, to); err != nil {
		return err
	}
	d.dirty[to] = d.dirty[from]
	delete(d.dirty, from)
	d.names[to] = filepath.Dir(to)
	if now {
		return errDead
	}
	return nil
}

func (d *dyingDisk) SyncDir(dir string) error {
	if dead, _ := d.step(); dead {
		return errDead
	}
	for name, in := range d.names {
		if in == dir {
			delete(d.names, name)
		}
	}
	return nil // no power is really lost
}

type dyingFile struct {
	File
	d *dyingDisk
}

func (f dyingFile) Write(b []byte) (int, error) {
	dead, now := f.d.step()
	if !dead {
		return f.File.Write(b)
	}
	if now {
		_, _ = f.File.Write(b[:len(b)/2])
	}
	return 0, errDead
}

func (f dyingFile) Sync() error {
	if dead, _ := f.d.step(); dead {
		return errDead
	}
	delete(f.d.dirty, f.Name())
	return nil
}

// off cuts the power: bytes that were not synced are lost from the middle of their
// file on and, if names says so, so are names.
func (d *dyingDisk) off(names bool) {
	for path, dirty := range d.dirty {
		if info, err := os.Stat(path); err == nil && dirty {
			_ = os.Truncate(path, info.Size()/2)
		}
	}
	if names {
		for path := range d.names {
			_ = os.RemoveAll(path)
		}
	}
}

// contents are what the crash test keeps, with one of them twice.
func contents() (out [][]byte) {
	for i := range 6 {
		out = append(out, []byte(strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 1+i*300)))
	}
	return append(out, out[2], nil)
}

// The machine dies at every operation of a store, as a process or for want of power.
// What Put had returned is there; of the rest nothing is taken for a content, and it
// can be put once more.
func TestDiesAtEveryOperation(t *testing.T) {
	put := func(s *Store) (names []string) {
		for _, data := range contents() {
			name, err := s.Put(data)
			if err != nil {
				return names
			}
			names = append(names, name)
		}
		return names
	}
	whole := newDyingDisk(-1)
	all := put(&Store{Dir: filepath.Join(t.TempDir(), "x"), Disk: whole})
	if len(all) != len(contents()) || whole.ops < 50 {
		t.Fatalf("%d contents are kept in %d operations", len(all), whole.ops)
	}
	torn := 0
	for _, how := range []string{"killed", "power lost", "power and names lost"} {
		t.Run(how, func(t *testing.T) {
			for k := range whole.ops {
				dir := filepath.Join(t.TempDir(), "x")
				d := newDyingDisk(k)
				acked := put(&Store{Dir: dir, Disk: d})
				if how != "killed" {
					d.off(how == "power and names lost")
				}
				s := &Store{Dir: dir, Disk: newDyingDisk(-1)}
				for i, data := range contents() {
					got, err := s.Get(all[i])
					if err == nil && !bytes.Equal(got, data) {
						t.Fatalf("dead at %d: content %d is another", k, i)
					}
					if err != nil && !errors.Is(err, ErrGone) || err != nil && i < len(acked) {
						t.Fatalf("dead at %d: content %d of %d: %v", k, i, len(acked), err)
					}
				}
				for i, data := range contents() {
					path, _ := s.path(all[i])
					// Damage that no sync can prevent.
					if info, err := os.Stat(path); err == nil && k%5 == 0 {
						_ = os.Truncate(path, info.Size()/2)
						torn++
						if got, err := s.Get(all[i]); !errors.Is(err, ErrGone) {
							t.Fatalf("a torn file is taken for the %d bytes of content %d (%v)", len(got), i, err)
						}
					}
					name, err := s.Put(data)
					if err != nil || name != all[i] {
						t.Fatalf("dead at %d: content %d again: %v", k, i, err)
					}
					if got, err := s.Get(name); err != nil || !bytes.Equal(got, data) {
						t.Fatalf("dead at %d: content %d put again: %v", k, i, err)
					}
				}
			}
		})
	}
	if torn < 20 {
		t.Errorf("only %d files were torn", torn)
	}
}

func BenchmarkPut(b *testing.B) {
	s := &Store{Dir: b.TempDir()}
	data := bytes.Repeat([]byte("a line of a file of usual size\n"), 600)
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Put(fmt.Appendf(data, "%d", i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Put(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
