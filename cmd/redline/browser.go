package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// openBrowser has the user's browser open a link. It gives the program that does it a
// few seconds to fail; one that goes on is the browser itself.
func openBrowser(ctx context.Context, getenv func(string) string, link string) error {
	name, args := "xdg-open", []string{link}
	switch b := strings.Fields(getenv("BROWSER")); {
	case len(b) > 0: // the convention of xdg-open; %s stands for the link
		name, args = b[0], nil
		placed := false
		for _, a := range b[1:] {
			placed = placed || strings.Contains(a, "%s")
			args = append(args, strings.ReplaceAll(a, "%s", link))
		}
		if !placed {
			args = append(args, link)
		}
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	case getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" && getenv("WSL_DISTRO_NAME") == "":
		return errors.New("there is no screen")
	}
	cmd := exec.Command(name, args...)
	cmd.Env = os.Environ()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // until the browser ends, or this process
	timer := time.NewTimer(3 * time.Second)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
