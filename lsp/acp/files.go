package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
	"redline/workspace/text"
)

// files is the client's files as far as they are not what is on disk.
type files struct {
	x *session

	mu      sync.Mutex
	version int32 // of the last document
	broken  int   // answers in a row that did not come in time
	deaf    bool  // the client is not asked any more
	refuses bool  // the client does not write, whatever it declared
	exact   bool  // the client was seen to tell the last newline: many join lines
}

// maxAsked bounds the questions at the same time, and maxBroken the answers that may
// stay away before the client is not asked any more.
const (
	maxAsked  = 8
	maxBroken = 2
)

var _ agent.Saver = (*files)(nil)

// reads reports whether the client tells what it has in its buffers.
func (f *files) reads() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.x.s.client.FS.ReadTextFile && !f.deaf && !f.x.s.quirks.blindFiles
}

// writesToo reports whether files are written by the client. It has to read too: else
// nobody can tell whose text would be overwritten.
func (f *files) writesToo() bool {
	if !f.reads() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.x.s.client.FS.WriteTextFile && !f.refuses
}

// look is [agent.Looker]: it asks the client for the files at paths and for those that
// were unsaved when it was asked last. What differs from the disk is laid over it.
func (f *files) look(ctx context.Context, paths []string) {
	if !f.reads() {
		return
	}
	snap := f.x.ws.Snapshot()
	ask := map[string]string{} // path by key
	for _, d := range snap.Documents() {
		ask[d.Key] = d.Path
	}
	for _, p := range paths {
		if _, err := snap.Resolve(p); err == nil {
			if key := workspace.Key(p); ask[key] == "" {
				ask[key] = p
			}
		}
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, maxAsked)
	for _, p := range ask {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f.lookAt(ctx, p)
		})
	}
	wg.Wait()
}

// buffer is what the client has in a file.
type buffer struct {
	text string
	// same says that it is what is on disk, but perhaps for line ends.
	same bool
}

// lookAt brings the document of one file up to date.
func (f *files) lookAt(ctx context.Context, path string) {
	b, known := f.buffer(ctx, path)
	if !known {
		return
	}
	key := workspace.Key(path)
	if b == nil || b.same {
		f.x.ws.Drop(key)
		return
	}
	if d, ok := f.x.ws.Snapshot().DocumentByKey(key); ok && d.Text == b.text {
		return
	}
	f.mu.Lock()
	f.version++
	version := f.version
	f.mu.Unlock()
	f.x.ws.Put(&workspace.Document{Key: key, URI: path, Path: path, Version: version, Text: b.text})
}

// onDisk returns the text of a file; exists is false when there is none, and isText when
// it is none that could be edited.
func (f *files) onDisk(path string) (t string, format text.Format, exists, isText bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", text.Plain, !errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrNotExist)
	}
	if !info.Mode().IsRegular() || info.Size() > workspace.MaxFileSize {
		return "", text.Plain, true, false
	}
	data, _, err := f.x.ws.Snapshot().Disk().ReadBytes(path)
	if err != nil {
		return "", text.Plain, true, false
	}
	t, format, err = text.Decode(data)
	return t, format, true, err == nil
}

// buffer asks the client for a file. known is false when nothing new is known of it;
// the buffer is nil when the client has none, or none that counts.
func (f *files) buffer(ctx context.Context, path string) (b *buffer, known bool) {
	disk, format, exists, isText := f.onDisk(path)
	if exists && !isText {
		return nil, true
	}
	var res readFileResult
	err := f.call(ctx, methodReadFile, readFileParams{f.x.id, path}, &res)
	var peer *rpc.Error
	switch {
	case ctx.Err() != nil:
		return nil, false
	case errors.As(err, &peer), err == nil && res.Content == nil:
		return nil, true // it has no such file
	case err != nil:
		return nil, false
	}
	got := strings.TrimPrefix(*res.Content, "\uFEFF")
	switch {
	case !exists && got == "":
		return nil, true // some answer with nothing for a file that is not there
	case !exists:
		return &buffer{text: got}, true
	case format.Encoding != text.UTF8 && strings.ContainsRune(got, '\uFFFD') && !strings.ContainsRune(disk, '\uFFFD'):
		return nil, true // it cannot read the encoding
	}
	return f.compare(got, disk), true
}

// compare returns what the client has of a file that is on disk. Where the last newline is
// missing it was left out by joining lines, unless the client is known to tell it.
func (f *files) compare(got, disk string) *buffer {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch ends := strings.HasSuffix(got, "\n"); {
	case ends:
		f.exact = true
	case strings.HasSuffix(disk, "\n") && got != "" && !f.exact:
		got += "\n"
	}
	return &buffer{text: got, same: workspace.SameText(got, disk)}
}

// call asks the client something about a file, in bounded time.
func (f *files) call(ctx context.Context, method string, params, result any) error {
	wait, cancel := context.WithTimeout(ctx, f.x.s.timing.Files)
	defer cancel()
	err := f.x.s.conn.Call(wait, method, params, result)
	var peer *rpc.Error
	answered := err == nil || errors.As(err, &peer)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case answered:
		f.broken = 0
		if peer != nil && peer.Code == rpc.CodeMethodNotFound {
			f.x.s.log.Warn("the client does not do what it declared", zap.String("method", method))
			if method == methodWriteFile {
				f.refuses = true
			} else {
				f.deaf = true
			}
		}
	case ctx.Err() == nil:
		if f.broken++; f.broken >= maxBroken {
			f.deaf = true
			f.x.s.log.Warn("the client does not answer about files; it is not asked any more", zap.String("method", method))
		}
	}
	return err
}

// CanSave implements [agent.Saver].
func (f *files) CanSave() bool { return f.writesToo() }

// Save implements [agent.Saver]: the client writes what it has. What was saved is seen on
// the disk.
func (f *files) Save(ctx context.Context, paths []string) []string {
	snap := f.x.ws.Snapshot()
	for _, p := range paths {
		if d, ok := snap.Document(p); ok && f.writesToo() {
			disk, format, exists, isText := f.onDisk(p)
			if exists && !isText {
				continue
			}
			want := likeOnDisk(disk, d.Text)
			if f.call(ctx, methodWriteFile, writeFileParams{f.x.id, p, want}, nil) == nil {
				f.mend(p, want, format)
			}
		}
	}
	f.look(ctx, paths)
	left := f.x.ws.Snapshot().Unsaved()
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return slices.Contains(left, filepath.Clean(p)) })
}

// likeOnDisk returns a client's text with the line ends of the file on disk: many show
// all of them as one newline.
func likeOnDisk(disk, t string) string {
	if !strings.Contains(disk, "\r") || strings.Contains(t, "\r") {
		return t
	}
	out, err := workspace.Apply(disk, workspace.Rewrite(disk, t))
	if err != nil { // edits of Rewrite fit
		return t
	}
	return out
}

// mend gives a file that the client has just written its encoding, byte order mark and
// line ends back, if it has the text and lost them.
func (f *files) mend(path, want string, format text.Format) {
	now, got, exists, isText := f.onDisk(path)
	if !exists || !isText || !workspace.SameText(now, want) || now == want && got == format {
		return
	}
	if now == want && got.Encoding == text.UTF8 && format.Encoding == text.Latin1 && isASCII(want) {
		return // the same bytes
	}
	if err := f.x.ws.Snapshot().Disk().WriteFile(path, want, format); err != nil {
		f.x.s.log.Warn("the file was not stored as before", zap.String("path", path), zap.Error(err))
	}
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
