// Package journal keeps sessions on disk, each as a file of JSON lines that only
// grows: DIR/FOLDER/SESSION.jsonl, with mode 0600 in folders of mode 0700.
//
// A line is on its way to the disk when Append has returned, so that it survives the
// death of the process, and on the disk when Sync has. What a crash left of a last
// line is no line. It knows nothing of what the lines say: that is package agent's.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultKeep is how many sessions of a folder are kept unless SetKeep says so.
const DefaultKeep = 200

// DefaultMaxSize is how large a session's file may grow, in bytes, unless
// Store.MaxSize says so.
const DefaultMaxSize = 256 << 20

// Errors of a [Store].
var (
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("there is no saved session of that name")
	// ErrInUse says that another process, or this one, has the session open.
	ErrInUse = errors.New("the session is open in another redline process; close it there, or join that process with redline serve --remote")
	// ErrFull says that the file has reached its size.
	ErrFull = errors.New("the session's file has reached its largest size; start a new session")
)

// Store is a folder of saved sessions. The zero values of its settings are useful.
type Store struct {
	Dir string
	// MaxSize is how large a session's file may grow, in bytes.
	MaxSize int64
	// Open replaces how files are opened for appending, for tests that let it fail.
	Open func(path string) (File, error)

	keep atomic.Int64
}

// SetKeep sets how many sessions of a folder are kept: of more, the oldest are removed
// when a new one begins.
func (s *Store) SetKeep(n int) { s.keep.Store(int64(n)) }

// File is what a session is written to.
type File interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

func openFile(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// goodID is what the name of a session may be: it becomes a file's name.
var goodID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,100}$`)

const suffix = ".jsonl"

// FolderName returns the name of the folder below Store.Dir for the sessions of a
// workspace folder.
func FolderName(folder string) string {
	folder = filepath.Clean(folder)
	sum := sha256.Sum256([]byte(folder))
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, filepath.Base(folder))
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:6])
}

// folder returns where the sessions of a workspace are: its first folder counts.
func (s *Store) folder(folders []string) string {
	first := ""
	if len(folders) > 0 {
		first = folders[0]
	}
	return filepath.Join(s.Dir, FolderName(first))
}

// Log is an open session's file. It is safe for concurrent use.
type Log struct {
	path   string
	max    int64
	unlock func()

	mu   sync.Mutex
	f    File
	size int64
	err  error // once writing has failed, nothing is written any more
}

// Create makes the file of a new session and locks it.
func (s *Store) Create(folders []string, id string) (*Log, error) {
	if !goodID.MatchString(id) {
		return nil, fmt.Errorf("%q cannot be the name of a session", id)
	}
	dir := s.folder(folders)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the session: %w", err)
	}
	path := filepath.Join(dir, id+suffix)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("keep the session: %s: %w", path, fs.ErrExist)
	}
	l, err := s.open(path, 0)
	if err != nil {
		return nil, err
	}
	syncDir(dir) // the name is to outlast a loss of power, like what is in the file
	s.prune(dir)
	return l, nil
}

// syncDir brings the names in a folder to the disk, where the system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// open opens and locks a file whose whole lines end at size.
func (s *Store) open(path string, size int64) (*Log, error) {
	unlock, err := lock(path + ".lock")
	if err != nil {
		return nil, err
	}
	open := s.Open
	if open == nil {
		open = openFile
	}
	f, err := open(path)
	if err != nil {
		unlock()
		return nil, fmt.Errorf("open the session: %w", err)
	}
	l := &Log{path: path, max: s.MaxSize, unlock: unlock, f: f, size: size}
	if l.max <= 0 {
		l.max = DefaultMaxSize
	}
	return l, nil
}

// Load opens the session with the given name, locks it, and returns its lines. What a
// crash left of a last line is cut off.
func (s *Store) Load(id string) (*Log, [][]byte, error) {
	path, err := s.Find(id)
	if err != nil {
		return nil, nil, err
	}
	// The lock comes first: what is read must be all there is.
	l, err := s.open(path, 0)
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		l.Close()
		return nil, nil, fmt.Errorf("read the session: %w", err)
	}
	lines, end := split(data)
	if end < len(data) {
		if err := l.f.Truncate(int64(end)); err != nil {
			l.Close()
			return nil, nil, fmt.Errorf("mend the session's last line: %w", err)
		}
	}
	l.size = int64(end)
	return l, lines, nil
}

// Read returns the lines of a session that may be open elsewhere.
func (s *Store) Read(id string) ([][]byte, error) {
	path, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	lines, _ := split(data)
	return lines, nil
}

// split returns the whole lines of data that hold JSON, and where the last whole
// line ends. Damage in the middle costs the lines it is in and no others.
func split(data []byte) (lines [][]byte, end int) {
	for {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return lines, end
		}
		if line := data[end : end+i]; json.Valid(line) {
			lines = append(lines, line)
		}
		end += i + 1
	}
}

// Find returns the path of the session with the given name.
func (s *Store) Find(id string) (string, error) {
	if goodID.MatchString(id) {
		dirs, err := os.ReadDir(s.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for the session: %w", err)
		}
		for _, d := range dirs {
			path := filepath.Join(s.Dir, d.Name(), id+suffix)
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %q", ErrNotFound, id)
}

// Saved is a file in the store.
type Saved struct {
	ID, Path string
	Modified time.Time
}

// List returns the sessions that began in one of the folders, newest first; of every
// folder when there are none.
func (s *Store) List(folders ...string) ([]Saved, error) {
	var dirs []string
	for _, f := range folders {
		dirs = append(dirs, filepath.Join(s.Dir, FolderName(f)))
	}
	if len(folders) == 0 {
		entries, err := os.ReadDir(s.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the sessions: %w", err)
		}
		for _, e := range entries {
			dirs = append(dirs, filepath.Join(s.Dir, e.Name()))
		}
	}
	var out []Saved
	for _, dir := range dirs {
		out = append(out, list(dir)...)
	}
	slices.SortFunc(out, func(a, b Saved) int { return b.Modified.Compare(a.Modified) })
	return out, nil
}

func list(dir string) (out []Saved) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // none were kept
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			out = append(out, Saved{id, filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	return out
}

// Ends returns the first line of a file and the whole lines among its last n bytes.
func Ends(path string, n int64) (first []byte, last [][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, min(info.Size(), 64<<10))
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		first = head[:i]
	}
	tail := make([]byte, min(info.Size(), n))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	last, _ = split(tail)
	return first, last, nil
}

// Delete removes a session that no process has open.
func (s *Store) Delete(id string) error {
	path, err := s.Find(id)
	if err != nil {
		return err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("delete the session: %w", err)
	}
	// Whoever waits for the lock of this file finds no session any more.
	_ = os.Remove(path + ".lock")
	return nil
}

// prune removes the oldest sessions of a folder beyond those to be kept.
func (s *Store) prune(dir string) {
	keep := int(s.keep.Load())
	if keep == 0 {
		keep = DefaultKeep
	}
	all := list(dir)
	if len(all) <= keep {
		return
	}
	slices.SortFunc(all, func(a, b Saved) int { return b.Modified.Compare(a.Modified) })
	for _, old := range all[keep:] {
		// One in use stays, and so does one that cannot be removed.
		_ = s.Delete(old.ID)
	}
}

// Path returns the file's path.
func (l *Log) Path() string { return l.path }

// Append writes v as one line. Once it has failed nothing more is written: a line
// after a gap would tell a story that did not happen.
func (l *Log) Append(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("keep the session: %w", err)
	}
	return l.write(b.Bytes())
}

func (l *Log) write(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if l.size+int64(len(line)) > l.max {
		l.err = ErrFull
		return l.err
	}
	n, err := l.f.Write(line)
	if err != nil {
		l.err = fmt.Errorf("keep the session: %w", err)
		if n > 0 {
			_ = l.f.Truncate(l.size) // a torn line is tolerated
		}
		return l.err
	}
	l.size += int64(n)
	return nil
}

// Sync returns when everything appended before is on the disk.
func (l *Log) Sync() error {
	l.mu.Lock()
	f, err := l.f, l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if f == nil {
		return fs.ErrClosed
	}
	if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("keep the session: %w", err)
	}
	return nil
}

// Close closes the file and gives up the lock.
func (l *Log) Close() error {
	l.mu.Lock()
	f := l.f
	l.f = nil
	if l.err == nil {
		l.err = fs.ErrClosed
	}
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	err := f.Close()
	l.unlock()
	return err
}
