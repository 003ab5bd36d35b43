// Package vault keeps a user's sign-in between runs: one file, encrypted, that only the
// user may read.
//
// The file is sealed with AES-256-GCM. Its key is made of random bytes, which lie in a
// file of their own (mode 0600) or, if that is wanted, in the system's keyring, and of the machine and the user, so that a copy of the
// folder on another machine, or one read by another user, opens nothing. That guards
// backups and synchronised folders; it cannot guard against a program that runs as the
// user.
//
// Every change is made under a lock that other processes respect, to a new file that
// takes the place of the old one at once: a reader sees the one or the other.
package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The files of a vault.
const (
	fileName = "credentials"
	keyName  = "credentials.key"
	lockName = "credentials.lock"
)

// ErrUnreadable is wrapped by [Vault.Load] when there is a file that cannot be opened
// with this machine's key.
var ErrUnreadable = errors.New("the saved sign-in cannot be read on this machine; sign in again")

// Secrets is what is kept. The zero value is nothing.
type Secrets struct {
	Google *Google `json:"google,omitempty"`
	APIKey string  `json:"apiKey,omitempty"` // of the Gemini API
	// Last names the way to sign in that was used last, where several are kept.
	Last string `json:"last,omitempty"`
}

// Google is a sign-in with Google.
type Google struct {
	RefreshToken string    `json:"refreshToken"`
	AccessToken  string    `json:"accessToken,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"` // of the access token
	// ClientID and ClientSecret are of the OAuth client that the tokens were given to;
	// no other can refresh them.
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
	Email        string `json:"email,omitempty"` // of the user, when it could be found out
	// Project and Tier are what Code Assist said of the account at the sign-in, to be
	// shown.
	Project string `json:"project,omitempty"`
	Tier    string `json:"tier,omitempty"`
}

// Vault is a folder with a sign-in. It is safe for concurrent use, also by several
// processes.
type Vault struct {
	dir string

	mu       sync.Mutex
	inRing   bool   // a key that is made is kept in the keyring
	fromRing []byte // what the keyring has given, so that it is asked once
}

// New returns the vault in the folder dir, which need not exist. It touches nothing.
func New(dir string) *Vault { return &Vault{dir: dir} }

// UseKeyring says whether the next sign-in that is kept has its key in the system's
// keyring. Where there is none, it stays in a file.
func (v *Vault) UseKeyring(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inRing = on
}

func (v *Vault) path(name string) string { return filepath.Join(v.dir, name) }

// Load returns what is kept; nothing when there is no file.
func (v *Vault) Load() (Secrets, error) {
	if v.dir == "" {
		return Secrets{}, nil
	}
	sealed, err := os.ReadFile(v.path(fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return Secrets{}, nil
	}
	if err != nil {
		return Secrets{}, fmt.Errorf("read the saved sign-in: %w", err)
	}
	place := placeOf(sealed)
	key, err := v.key(context.Background(), place) // which waits for the keyring, if at all, for a while
	if err != nil {
		if place == keyInRing {
			return Secrets{}, fmt.Errorf("%w (%w)", ErrUnreadable, err)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return Secrets{}, ErrUnreadable
		}
		return Secrets{}, err
	}
	plain, err := open(key, sealed, place)
	if err != nil && place == keyInRing {
		v.remember(nil) // another process may have put another key into the keyring
		if key, err = v.key(context.Background(), place); err == nil {
			plain, err = open(key, sealed, place)
		}
	}
	if err != nil {
		return Secrets{}, ErrUnreadable
	}
	var s Secrets
	if err := json.Unmarshal(plain, &s); err != nil {
		return Secrets{}, ErrUnreadable
	}
	return s, nil
}

// Stamp changes whenever what is kept changes; it costs no more than a look at the
// file's time.
func (v *Vault) Stamp() string {
	info, err := os.Stat(v.path(fileName))
	if v.dir == "" || err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.ModTime().UnixNano(), info.Size())
}

// Update lets change alter what is kept, and keeps the result unless change returns an
// error, which Update returns. Until then other processes wait, so that of two that
// refresh a token at the same time the second sees what the first got. What cannot be
// read counts as nothing.
func (v *Vault) Update(ctx context.Context, change func(*Secrets) error) error {
	if v.dir == "" {
		return errors.New("there is no folder to keep the sign-in in: set REDLINE_HOME or HOME")
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	unlock, err := lock(ctx, v.path(lockName))
	if err != nil {
		return err
	}
	defer unlock()
	s, err := v.Load()
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return err
	}
	if err := change(&s); err != nil {
		return err
	}
	if s.Google == nil && s.APIKey == "" {
		return v.remove(ctx)
	}
	return v.save(ctx, s)
}

// Clear removes everything that is kept, the key too.
func (v *Vault) Clear(ctx context.Context) error {
	if _, err := os.Stat(v.dir); v.dir == "" || err != nil {
		return nil
	}
	unlock, err := lock(ctx, v.path(lockName))
	if err != nil {
		return err
	}
	defer unlock()
	return v.remove(ctx)
}

// remove removes the files, and the key in the keyring; the lock's file stays, since
// others may wait for it.
func (v *Vault) remove(ctx context.Context) error {
	sealed, _ := os.ReadFile(v.path(fileName)) // if there is one
	var ringErr error
	if placeOf(sealed) == keyInRing {
		v.remember(nil)
		ringErr = v.ringDelete(ctx)
	}
	for _, name := range []string{fileName, keyName} {
		if err := os.Remove(v.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the saved sign-in: %w", err)
		}
	}
	if ringErr != nil {
		return fmt.Errorf("the sign-in is removed, but not its key, which opens nothing any more, in the system's keyring: %w", ringErr)
	}
	return nil
}

// save writes s to a new file that takes the place of the old one. The key stays the one
// there is, where it is, unless the keyring is wanted and it is not there.
func (v *Vault) save(ctx context.Context, s Secrets) error {
	plain, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the sign-in: %w", err)
	}
	v.mu.Lock()
	inRing := v.inRing
	v.mu.Unlock()
	old, _ := os.ReadFile(v.path(fileName)) // if there is one
	place := placeOf(old)
	var key []byte
	if place == keyInRing || !inRing {
		key, err = v.key(ctx, place)
	}
	if key == nil || err != nil {
		want := keyInFile
		if inRing {
			want = keyInRing
		}
		if key, place, err = v.newKey(ctx, want); err != nil {
			return err
		}
	}
	sealed, err := seal(key, plain, place)
	if err != nil {
		return err
	}
	if err := v.write(fileName, sealed); err != nil {
		return err
	}
	if place == keyInRing {
		_ = os.Remove(v.path(keyName)) // an older one, of no use any more
	}
	return nil
}

// write replaces a file atomically. CreateTemp makes it readable by the user alone.
func (v *Vault) write(name string, data []byte) (err error) {
	f, err := os.CreateTemp(v.dir, name+".new-*")
	if err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // what is left of it is of no use
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), v.path(name))
	}
	if err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	return nil
}
