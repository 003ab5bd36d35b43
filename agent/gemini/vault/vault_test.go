package vault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/gemini/vault"
)

// addEnv makes the test program add to a vault's counter instead of running tests.
const addEnv = "REDLINE_TEST_VAULT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(addEnv); dir != "" {
		if err := add(dir, 50); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// add counts up in the vault n times.
func add(dir string, n int) error {
	v := vault.New(dir)
	for range n {
		if err := v.Update(context.Background(), func(s *vault.Secrets) error {
			i, _ := strconv.Atoi(s.APIKey) // empty: 0
			s.APIKey = strconv.Itoa(i + 1)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func google(token string) *vault.Google {
	return &vault.Google{RefreshToken: token, AccessToken: "a", Expiry: time.Unix(1700000000, 0).UTC(), ClientID: "c", Email: "e"}
}

func put(t *testing.T, v *vault.Vault, s vault.Secrets) {
	t.Helper()
	if err := v.Update(t.Context(), func(kept *vault.Secrets) error { *kept = s; return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "state")
	v := vault.New(dir)
	if s, err := v.Load(); err != nil || s != (vault.Secrets{}) || v.Stamp() != "" {
		t.Fatalf("an empty vault holds %+v, %v", s, err)
	}
	put(t, v, vault.Secrets{Google: google("refresh-PLANTED"), APIKey: "key-PLANTED"})
	s, err := vault.New(dir).Load() // as another process does
	if err != nil || s.APIKey != "key-PLANTED" || *s.Google != *google("refresh-PLANTED") {
		t.Fatalf("got %+v, %v", s, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", f.Name(), info.Mode().Perm())
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || bytes.Contains(data, []byte("PLANTED")) {
			t.Errorf("%s shows a secret, %v", f.Name(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %o, %v", info.Mode().Perm(), err)
	}
	before := v.Stamp()
	put(t, v, vault.Secrets{APIKey: "other"})
	if v.Stamp() == before || before == "" {
		t.Errorf("stamp %q after %q", v.Stamp(), before)
	}
	if err := v.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := v.Load(); err != nil || s != (vault.Secrets{}) {
		t.Errorf("after Clear: %+v, %v", s, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "credentials*")); len(files) != 1 {
		t.Errorf("Clear left %v", files)
	}
}

// Nothing kept is nothing on disk.
func TestEmptyIsRemoved(t *testing.T) {
	dir := t.TempDir()
	v := vault.New(dir)
	put(t, v, vault.Secrets{APIKey: "k"})
	put(t, v, vault.Secrets{})
	if _, err := os.Stat(filepath.Join(dir, "credentials")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// What cannot be opened is an error for readers, and replaced by the next sign-in.
func TestUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"other key": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "credentials.key"), make([]byte, 32), 0o600)
		},
		"no key":    func(dir string) error { return os.Remove(filepath.Join(dir, "credentials.key")) },
		"short key": func(dir string) error { return os.WriteFile(filepath.Join(dir, "credentials.key"), []byte("x"), 0o600) },
		"no file":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "credentials"), nil, 0o600) },
		"cut short": func(dir string) error { return os.Truncate(filepath.Join(dir, "credentials"), 30) },
		"other text": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "credentials"), []byte(`{"apiKey":"k"}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			v := vault.New(dir)
			put(t, v, vault.Secrets{APIKey: "k"})
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			if s, err := v.Load(); !errors.Is(err, vault.ErrUnreadable) || s != (vault.Secrets{}) {
				t.Errorf("got %+v, %v", s, err)
			}
			put(t, v, vault.Secrets{APIKey: "new"})
			if s, err := v.Load(); err != nil || s.APIKey != "new" {
				t.Errorf("after a new sign-in: %+v, %v", s, err)
			}
		})
	}
}

// A change that fails changes nothing, and a key that others can read is closed.
func TestFailedChange(t *testing.T) {
	dir := t.TempDir()
	v := vault.New(dir)
	put(t, v, vault.Secrets{APIKey: "k"})
	no := errors.New("no")
	if err := v.Update(t.Context(), func(s *vault.Secrets) error { s.APIKey = "other"; return no }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "credentials.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := v.Load(); err != nil || s.APIKey != "k" {
		t.Errorf("got %+v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "credentials.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if err := vault.New("").Update(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "REDLINE_HOME") {
		t.Errorf("without a folder: %v", err)
	}
}

// Several goroutines in several processes lose nothing.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), addEnv+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wg.Go(func() {
			if err := add(dir, 50); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s, err := vault.New(dir).Load(); err != nil || s.APIKey != "200" {
		t.Errorf("counted to %q, %v; want 200", s.APIKey, err)
	}
}

// Who waits for the lock can be called off.
func TestLockEndsWithContext(t *testing.T) {
	v := vault.New(t.TempDir())
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- v.Update(context.Background(), func(*vault.Secrets) error {
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Update(ctx, func(*vault.Secrets) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
