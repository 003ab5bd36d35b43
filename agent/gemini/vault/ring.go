package vault

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

// ringName is what the system's keyring files the key under.
const ringName = "redline"

// ringTimeout is how long the keyring is given. A locked one may ask the user, whom a
// request of the background must not wait for.
const ringTimeout = 10 * time.Second

var errNoRing = errors.New("there is no keyring here")

// ring does something with the system's keyring: macOS's Keychain, Windows' Credential
// Manager, the Secret Service (GNOME, KDE) elsewhere. The library knows no context, so
// that a call that is given up goes on by itself until the keyring answers.
func ring(ctx context.Context, call func() (string, error)) (string, error) {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		return "", errNoRing // the library would start a bus
	}
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	timer := time.NewTimer(ringTimeout)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		return "", errors.New("the keyring does not answer; it may be locked")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ringGet returns the random bytes that are kept for the vault.
func (v *Vault) ringGet(ctx context.Context) ([]byte, error) {
	text, err := ring(ctx, func() (string, error) { return keyring.Get(ringName, v.dir) })
	if err != nil {
		return nil, err
	}
	random, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(random) != keySize {
		return nil, keyring.ErrNotFound
	}
	return random, nil
}

func (v *Vault) ringSet(ctx context.Context, random []byte) error {
	text := base64.StdEncoding.EncodeToString(random)
	_, err := ring(ctx, func() (string, error) { return "", keyring.Set(ringName, v.dir, text) })
	return err
}

func (v *Vault) ringDelete(ctx context.Context) error {
	_, err := ring(ctx, func() (string, error) { return "", keyring.Delete(ringName, v.dir) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}
