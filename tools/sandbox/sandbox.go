// Package sandbox confines the commands that the model runs, where the system can.
//
// In the sandbox a command may write to the workspace and to a folder for temporary
// files, and read the rest; without leave it has no network. Two kinds are known, both
// of Linux, and are found by trying:
//
//   - bubblewrap (the program bwrap): namespaces of files, processes and the network.
//     Sockets in /run and /tmp are gone, folders of keys in the home folder are empty,
//     and of the workspace .git/hooks, .git/config and .gemini stay read-only, since
//     what stands there runs outside of the sandbox later.
//   - Landlock, from Linux 5.13 on, set up by this program run again as a helper. It
//     knows only what is allowed, so the exceptions above are not there, and of the
//     network it stops TCP from Linux 6.7 on. Signals to processes outside are stopped
//     from 6.12 on.
//
// A sandbox bounds what a command can break, and where it can send things; it does not
// keep it from what may be read.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Kind is a way to confine commands.
type Kind string

// The kinds. None is no sandbox.
const (
	None     Kind = ""
	Bwrap    Kind = "bwrap"
	Landlock Kind = "landlock"
)

// Setting is what the user wants (tools.sandbox and its neighbours). The zero value is
// no sandbox.
type Setting struct {
	On       bool
	Kind     Kind     // a particular one; None: the first that works
	Network  bool     // commands may use the network
	Writable []string // absolute paths that may be written besides
}

// Box is a sandbox that works here. A nil Box confines nothing.
type Box struct {
	kind Kind
	set  Setting
	bin  string // of bwrap, or of this program
}

// Kind returns how it confines.
func (b *Box) Kind() Kind {
	if b == nil {
		return None
	}
	return b.kind
}

// probeTime bounds the trial of one kind.
const probeTime = 5 * time.Second

var (
	probeMu sync.Mutex
	probed  = map[Kind]error{} // nil: it works
)

// Open returns the sandbox that the user wants, nil when they want none. The error says
// why there is none on this system. Each kind is tried once in the life of a process.
func Open(ctx context.Context, set Setting) (*Box, error) {
	if !set.On {
		return nil, nil
	}
	kinds := []Kind{Bwrap, Landlock}
	if set.Kind != None {
		kinds = []Kind{set.Kind}
	}
	var why []error
	for _, k := range kinds {
		b, err := open(ctx, k, set)
		if err == nil {
			return b, nil
		}
		why = append(why, fmt.Errorf("%s: %w", k, err))
	}
	return nil, errors.Join(why...)
}

func open(ctx context.Context, k Kind, set Setting) (*Box, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("it needs Linux")
	}
	b := &Box{kind: k, set: set}
	var err error
	if k == Bwrap {
		b.bin, err = exec.LookPath("bwrap")
		if err != nil {
			return nil, errors.New("it is not installed (package bubblewrap)")
		}
	} else if b.bin, err = os.Executable(); err != nil {
		return nil, err
	}
	probeMu.Lock()
	defer probeMu.Unlock() // held over the trial: it takes milliseconds, once
	res, tried := probed[k]
	if !tried {
		if res = b.try(ctx); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		probed[k] = res
	}
	return b, res
}

// try runs a command in the sandbox that may write to one folder and not to another.
func (b *Box) try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "redline-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, out, temp := filepath.Join(dir, "in"), filepath.Join(dir, "out"), filepath.Join(dir, "temp")
	for _, d := range []string{in, out, temp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	argv := append(b.Prefix(Use{Folders: []string{in}, Temp: temp}), "/bin/sh", "-c", `echo x >"$1/f" && ! echo x 2>/dev/null >"$2/f"`, "sh", in, out)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("it does not work here: %s", firstLine(string(said), err))
	}
	if _, err := os.Stat(filepath.Join(in, "f")); err != nil {
		return errors.New("it does not work here: what is written in it is lost")
	}
	if _, err := os.Stat(filepath.Join(out, "f")); err == nil {
		return errors.New("it does not work here: it confines nothing")
	}
	return nil
}

func firstLine(said string, err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		return line
	}
	return err.Error()
}

// Use is what one command is confined to.
type Use struct {
	Folders []string // of the workspace, absolute: writable
	Temp    string   // absolute; its TMPDIR
	Detach  bool     // the command outlives who starts it
}

// Prefix returns the program and arguments to put before a command and its arguments.
func (b *Box) Prefix(u Use) []string {
	if b.kind == Bwrap {
		return b.bwrap(u)
	}
	return b.landlock(u)
}

// Env returns the variables that a command needs in the sandbox: places to write to
// for what is else in the home folder.
func (b *Box) Env(u Use) []string {
	tmp := u.Temp
	if b.kind == Bwrap {
		tmp = "/tmp"
	}
	return []string{
		"TMPDIR=" + tmp, "XDG_CACHE_HOME=" + filepath.Join(tmp, ".cache"), "npm_config_cache=" + filepath.Join(tmp, ".npm"),
		"REDLINE_SANDBOX=" + string(b.kind),
	}
}

// String says for the user what it does.
func (b *Box) String() string {
	if b == nil {
		return "Runs without a sandbox, as you."
	}
	name, net := "bubblewrap", "no network"
	if b.kind == Landlock {
		name, net = "Landlock", "no TCP where the system can stop it"
	}
	if b.set.Network {
		net = "with network"
	}
	text := fmt.Sprintf("Runs in a sandbox (%s): writes only to the workspace and temporary files", name)
	if len(b.set.Writable) > 0 {
		text += " and " + strings.Join(b.set.Writable, ", ")
	}
	return text + ", " + net + "."
}
