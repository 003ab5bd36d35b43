package lsptest

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Process makes a Server of a command that speaks on stdio, such as the built
// redline with the argument serve. The command is started once; its stderr stays
// as it is set.
func Process(cmd *exec.Cmd) Server {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		cmd.Stdout = out
		cmd.WaitDelay = time.Second // a grandchild may hold the pipes
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, err)
		}
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may be gone
		defer stop()
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			_, _ = io.Copy(stdin, in) // ends with the editor's pipe or the process
			_ = stdin.Close()
		}()
		err = cmd.Wait()
		if c, ok := in.(io.Closer); ok {
			_ = c.Close() // frees the copier
			<-copied
		}
		return err
	}
}
