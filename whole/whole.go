// Package whole writes files that are there whole or not at all: they are written aside and then take their place.
package whole

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts b in the place of what the file had. Only its owner may read a file that was not there before.
func Write(path string, b []byte) error {
	return Replace(path, 0o600, bytesOf(b))
}

// Replace puts what fill writes in the place of what the file had; if fill fails, the file stays as it is.
func Replace(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return aside(path, mode, fill, os.Rename)
}

// Create makes a file of b that only its owner may read. If there is one already that one stays, and the error is
// fs.ErrExist; of two at once one is the first.
func Create(path string, b []byte) error {
	return aside(path, 0o600, bytesOf(b), func(from, to string) error {
		// A link, unlike a renamed file, takes no other's place.
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	})
}

func bytesOf(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

func aside(path string, mode fs.FileMode, fill func(io.Writer) error, place func(from, to string) error) error {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncFolder(folder)
}

// syncFolder has the name of a new file on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system can do this with a folder
	return d.Close()
}
