//go:build unix

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps a second server from the same folder of classes: both would start the same sessions.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data folder %s: another server has its class: give each its own with --data DIR", filepath.Dir(dir))
	}
	return func() { _ = f.Close() }, nil
}
