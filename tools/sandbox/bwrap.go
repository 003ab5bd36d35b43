package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hidden are the folders of keys, below the home folder, that are empty in bubblewrap.
var hidden = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".gemini", ".config/redline", ".local/state/redline", ".local/share/keyrings"}

// protected are the places of a workspace that stay read-only in bubblewrap.
var protected = []string{".git/hooks", ".git/config", ".gemini"}

// bwrap returns the call of bubblewrap. Later binds are laid over earlier ones.
func (b *Box) bwrap(u Use) []string {
	args := []string{
		b.bin, "--ro-bind", "/", "/",
		"--dev", "/dev", "--dev-bind", "/dev/null", "/dev/tty", // no keystrokes to the user's terminal
		"--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL",
	}
	if os.Getuid() == 0 {
		// Root keeps what it needs for files of others; the rest would undo the sandbox.
		for _, c := range []string{"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"} {
			args = append(args, "--cap-add", c)
		}
	}
	if !u.Detach {
		args = append(args, "--die-with-parent")
	}
	if !b.set.Network {
		args = append(args, "--unshare-net")
	}
	if exists("/run") {
		args = append(args, "--tmpfs", "/run") // the sockets of what runs for the user, and of the system
		if b.set.Network {
			args = append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
		}
	}
	args = append(args, "--bind", u.Temp, "/tmp")
	if exists("/var/tmp") {
		args = append(args, "--bind", u.Temp, "/var/tmp")
	}
	var open []string
	for _, dir := range append(append([]string(nil), u.Folders...), b.set.Writable...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			open = append(open, real)
			args = append(args, "--bind", real, real)
		}
	}
	for _, dir := range toHide() {
		real, err := filepath.EvalSymlinks(dir)
		inUse := slices.ContainsFunc(open, func(o string) bool { return o == real || strings.HasPrefix(o, real+"/") })
		if err == nil && isDir(real) && !inUse {
			args = append(args, "--tmpfs", real)
		}
	}
	for _, dir := range u.Folders {
		for _, p := range protected {
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, p)); err == nil {
				args = append(args, "--ro-bind", real, real)
			}
		}
	}
	return append(args, "--")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// toHide returns the folders of keys there may be.
func toHide() []string {
	var out []string
	if home, err := os.UserHomeDir(); err == nil {
		for _, d := range hidden {
			out = append(out, filepath.Join(home, d))
		}
	}
	if h := os.Getenv("REDLINE_HOME"); filepath.IsAbs(h) {
		out = append(out, h)
	}
	return out
}
