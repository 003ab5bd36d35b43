package vault

import (
	"bytes"
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

// magic begins a sealed file and says which form it has.
const magic = "redline-sealed-1\n"

// keySize is the length of the random bytes, and of the key made of them.
const keySize = 32

// key returns the key of the sealed file. Without one, make says to make it; else the
// error is fs.ErrNotExist.
func (v *Vault) key(make bool) ([]byte, error) {
	path := v.path(keyName)
	random, err := os.ReadFile(path)
	switch {
	case err == nil && len(random) == keySize:
		// An unpacked archive may have opened it to others.
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(path, 0o600) // some file systems know no modes
		}
	case err == nil || errors.Is(err, fs.ErrNotExist):
		if !make {
			return nil, fs.ErrNotExist
		}
		random = newBytes(keySize)
		if err := v.write(keyName, random); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("read the key of the saved sign-in: %w", err)
	}
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

func seal(key, plain []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, fmt.Errorf("seal the sign-in: %w", err)
	}
	return a.Seal([]byte(magic), nil, plain, []byte(magic)), nil
}

func open(key, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(magic))
	if !ok {
		return nil, errors.New("this is no sealed file")
	}
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	return a.Open(nil, nil, rest, []byte(magic))
}
