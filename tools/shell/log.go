package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Log is the file that takes what a background command prints. It stays below a size: when it
// would grow beyond, the middle of what came is left out, and a line there says so. Make it
// with [NewLog] and close it.
type Log struct {
	in, out *os.File // of the pipe; the command has out
	file    *os.File
	clean   func(string) string
	max     int64
	done    chan struct{} // closed when nothing is written any more

	size    int64 // of the file
	dropped int64 // bytes left out of its middle
	resume  int64 // where what comes after them begins, once there are any
	release sync.Once
}

const (
	logHead   = 4                      // the start that is always kept: a fourth of the log
	lineWaits = 300 * time.Millisecond // how long part of a line waits for its rest
	maxHeld   = 64 << 10               // of a line, in bytes; a secret may be torn where a longer one is
)

// NewLog opens the log in a file, for at most max bytes. clean is given whole lines, and takes
// out of them what must not be on the disk; nil: nothing.
func NewLog(path string, max int64, clean func(string) string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		file.Close()
		return nil, err
	}
	if clean == nil {
		clean = func(s string) string { return s }
	}
	l := &Log{in: in, out: out, file: file, clean: clean, max: max, done: make(chan struct{})}
	go l.copy()
	return l, nil
}

// started gives up our end of what the command writes to, so that the end of the last
// process that has it is the end of the log.
func (l *Log) started() { l.release.Do(func() { l.out.Close() }) }

// Close ends the log. What was printed by then is in the file when all processes that could
// print have ended; for others it waits a moment only.
func (l *Log) Close() {
	l.started()
	select {
	case <-l.done:
	case <-time.After(lineWaits):
		_ = l.in.SetReadDeadline(time.Unix(1, 0))
		l.in.Close()
		<-l.done
	}
}

// copy writes what is printed, line by line, until nobody can print any more.
func (l *Log) copy() {
	defer close(l.done)
	defer l.file.Close()
	defer l.in.Close()
	buf := make([]byte, 0, maxHeld)
	for {
		if len(buf) > 0 {
			_ = l.in.SetReadDeadline(time.Now().Add(lineWaits))
		} else {
			_ = l.in.SetReadDeadline(time.Time{})
		}
		n, err := l.in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := bytes.LastIndexByte(buf, '\n') + 1
		if err != nil || len(buf) == cap(buf) && end == 0 {
			end = len(buf)
		}
		if end > 0 {
			l.write([]byte(l.clean(string(buf[:end]))))
			buf = append(buf[:0], buf[end:]...)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// write appends, and makes room before. What cannot be written is lost: the command must not
// notice.
func (l *Log) write(p []byte) {
	if l.size+int64(len(p)) > l.max {
		l.shrink(int64(len(p)))
	}
	n, _ := l.file.WriteAt(p, l.size)
	l.size += int64(n)
}

// shrink keeps the head of the log and its last part, with room for n bytes more.
func (l *Log) shrink(n int64) {
	head := l.max / logHead
	if l.dropped == 0 {
		first := make([]byte, head)
		k, _ := l.file.ReadAt(first, 0)
		head = int64(bytes.LastIndexByte(first[:k], '\n') + 1) // whole lines
		if head == 0 {
			head = int64(k)
		}
		l.resume = head
	} else {
		head = l.headEnd()
	}
	keep := max(0, min(l.max/2, l.max-head-n-256))
	from := max(l.resume, l.size-keep)
	tail := make([]byte, l.size-from)
	k, _ := l.file.ReadAt(tail, from)
	tail = tail[:k]
	if from > l.resume {
		if i := bytes.IndexByte(tail, '\n'); i >= 0 && i+1 < len(tail) {
			from, tail = from+int64(i)+1, tail[i+1:]
		}
	}
	l.dropped += from - l.resume
	note := fmt.Appendf(nil, "[... %d bytes of output left out ...]\n", l.dropped)
	l.resume = head + int64(len(note))
	_, _ = l.file.WriteAt(append(note, tail...), head)
	l.size = l.resume + int64(len(tail))
	_ = l.file.Truncate(l.size)
}

// headEnd is where the head ends, once something was left out behind it.
func (l *Log) headEnd() int64 {
	return l.resume - int64(len(fmt.Sprintf("[... %d bytes of output left out ...]\n", l.dropped)))
}
