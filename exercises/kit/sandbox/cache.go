package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// mostCached bounds what is kept of modules and of their machine code, in bytes.
const mostCached = 512 << 20

// cacheDir makes a folder of ours in the user's cache. Machine code is run from it, so that a folder which others can write
// to, such as the machine's temporary one, will not do.
func cacheDir(name string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place to keep what is built (set HOME or XDG_CACHE_HOME): %w", err)
	}
	dir := filepath.Join(base, "weir", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("what is built cannot be kept (set XDG_CACHE_HOME to a folder that can be written to): %w", err)
	}
	return dir, nil
}

func moduleDir() (string, error) { return cacheDir("cores") }

func machineCodeDir() (string, error) { return cacheDir("machine-code") }

// tidy removes what was used least lately when there is too much. It leaves alone what is younger than an hour, which
// somebody may be about to read.
func tidy() {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var sum int64
	for _, of := range []func() (string, error){moduleDir, machineCodeDir} {
		dir, err := of()
		if err != nil {
			continue
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // what cannot be read is not counted
			}
			if info, err := d.Info(); err == nil {
				files = append(files, file{path, info.Size(), info.ModTime()})
				sum += info.Size()
			}
			return nil
		})
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if sum <= mostCached || time.Since(f.used) < time.Hour {
			return
		}
		if os.Remove(f.path) == nil {
			sum -= f.size
		}
	}
}
