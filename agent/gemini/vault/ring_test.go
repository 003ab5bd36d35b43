package vault_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zalando/go-keyring"

	"redline/agent/gemini/vault"
)

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// With a keyring, the key is there and in no file; other processes find it, and it goes
// with the sign-in.
func TestKeyring(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // the keyring is the library's mock
	keyring.MockInit()
	dir := t.TempDir()
	v := vault.New(dir)
	put(t, v, vault.Secrets{APIKey: "in a file first"})
	v.UseKeyring(true)
	put(t, v, vault.Secrets{APIKey: "k"})
	if exists(dir, "credentials.key") {
		t.Error("the key is in a file too")
	}
	other := vault.New(dir)
	if s, err := other.Load(); err != nil || s.APIKey != "k" {
		t.Fatalf("another process: %+v, %v", s, err)
	}
	put(t, other, vault.Secrets{APIKey: "l"}) // which did not ask for the keyring, and keeps to it
	if s, err := v.Load(); err != nil || s.APIKey != "l" || exists(dir, "credentials.key") {
		t.Errorf("got %+v, %v", s, err)
	}
	// Signed out and in again by another process, there is another key.
	if err := other.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get("redline", dir); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the key is still there: %v", err)
	}
	again := vault.New(dir)
	again.UseKeyring(true)
	put(t, again, vault.Secrets{APIKey: "m"})
	if s, err := v.Load(); err != nil || s.APIKey != "m" {
		t.Errorf("the new key: %+v, %v", s, err)
	}
	// The keyring forgets, or is locked.
	keyring.MockInitWithError(errors.New("locked"))
	locked := vault.New(dir)
	if _, err := locked.Load(); !errors.Is(err, vault.ErrUnreadable) {
		t.Errorf("locked: %v", err)
	}
	locked.UseKeyring(true)
	put(t, locked, vault.Secrets{APIKey: "n"})
	if s, err := vault.New(dir).Load(); err != nil || s.APIKey != "n" || !exists(dir, "credentials.key") {
		t.Errorf("a file in its place: %+v, %v", s, err)
	}
}

// Where there is no keyring, nothing is started to have one.
func TestNoKeyring(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	dir := t.TempDir()
	v := vault.New(dir)
	v.UseKeyring(true)
	put(t, v, vault.Secrets{APIKey: "k"})
	if s, err := v.Load(); err != nil || s.APIKey != "k" || !exists(dir, "credentials.key") {
		t.Errorf("got %+v, %v", s, err)
	}
}
