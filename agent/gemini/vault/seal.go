package vault

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"runtime"
	"strings"
)

// These begin a sealed file and say where its key is.
const (
	keyInFile = "redline-sealed-1\n"
	keyInRing = "redline-sealed-ring-1\n"
)

// keySize is the length of the random bytes, and of the key made of them.
const keySize = 32

// placeOf returns how a sealed file begins; keyInFile for what is none.
func placeOf(sealed []byte) string {
	if bytes.HasPrefix(sealed, []byte(keyInRing)) {
		return keyInRing
	}
	return keyInFile
}

// key returns the key that is kept in a place; fs.ErrNotExist when there is none.
func (v *Vault) key(ctx context.Context, place string) ([]byte, error) {
	var random []byte
	if place == keyInRing {
		v.mu.Lock()
		random = v.fromRing
		v.mu.Unlock()
		if random == nil {
			var err error
			if random, err = v.ringGet(ctx); err != nil {
				return nil, fmt.Errorf("the system's keyring: %w", err)
			}
			v.remember(random)
		}
		return derive(random)
	}
	path := v.path(keyName)
	random, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(random) != keySize:
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, fmt.Errorf("read the key of the saved sign-in: %w", err)
	}
	// An unpacked archive may have opened it to others.
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // some file systems know no modes
	}
	return derive(random)
}

// newKey makes a key and keeps its random bytes: in the keyring if that is wanted and
// can be had, else in a file.
func (v *Vault) newKey(ctx context.Context, place string) (key []byte, in string, err error) {
	random := newBytes(keySize)
	if place == keyInRing {
		if err := v.ringSet(ctx, random); err == nil {
			v.remember(random)
			key, err = derive(random)
			return key, keyInRing, err
		}
	}
	if err := v.write(keyName, random); err != nil {
		return nil, "", err
	}
	key, err = derive(random)
	return key, keyInFile, err
}

func (v *Vault) remember(random []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fromRing = random
}

func derive(random []byte) ([]byte, error) {
	return hkdf.Key(sha256.New, random, nil, "redline sign-in\n"+whereAndWho(), keySize)
}

func newBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// whereAndWho names the machine, where it has a lasting name, and the user.
func whereAndWho() string {
	who := fmt.Sprint(os.Getuid())
	if u, err := user.Current(); err == nil {
		who = u.Uid
	}
	where := ""
	if runtime.GOOS == "linux" {
		if id, err := os.ReadFile("/etc/machine-id"); err == nil {
			where = strings.TrimSpace(string(id))
		}
	}
	return where + "\n" + who
}

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func seal(key, plain []byte, place string) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, fmt.Errorf("seal the sign-in: %w", err)
	}
	return a.Seal([]byte(place), nil, plain, []byte(place)), nil
}

func open(key, sealed []byte, place string) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(place))
	if !ok {
		return nil, errors.New("this is no sealed file")
	}
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	return a.Open(nil, nil, rest, []byte(place))
}
