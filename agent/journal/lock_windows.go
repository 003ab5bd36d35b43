package journal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// lock opens the lock file at path so that nobody else can. The system gives it up
// with the process, however that ends.
func lock(path string) (unlock func(), err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("lock the session: %w", err)
	}
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return nil, ErrInUse
		}
		return nil, fmt.Errorf("lock the session: %w", err)
	}
	return func() { _ = windows.CloseHandle(h) }, nil
}
