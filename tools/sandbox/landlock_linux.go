package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// become confines this process and replaces it by a command.
func become(c confinement, argv []string) error {
	bin, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	rules := []landlock.Rule{landlock.RODirs("/"), landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full").IgnoreIfMissing()}
	for _, path := range c.Writable {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			rules = append(rules, landlock.RWDirs(path).WithRefer())
		default:
			rules = append(rules, landlock.RWFiles(path))
		}
	}
	// Files are confined by every version, since 5.13; that they really are is tried
	// when the sandbox is opened. Of the rest each kernel does what it can.
	config := landlock.V6.BestEffort()
	if err := config.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if err := config.RestrictScoped(); err != nil {
		return fmt.Errorf("signals: %w", err)
	}
	if !c.Network {
		if err := config.RestrictNet(); err != nil {
			return fmt.Errorf("network: %w", err)
		}
	}
	return syscall.Exec(bin, argv, os.Environ())
}
