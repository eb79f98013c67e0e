package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir/labs"
)

const (
	maxInputBytes = 32 << 20
	// maxUnpacked bounds what a gzip file may turn into.
	maxUnpacked = 1 << 30
	maxInputs   = 16
	// flightsInput is the id of the data that comes with the lab.
	flightsInput = "flights"
)

// inputs holds the files that learners uploaded, under names of the server's own choice, until it stops.
type inputs struct {
	dir string

	mu    sync.Mutex
	order []string // ids, oldest first
	byID  map[string]*labs.Input
}

func newInputs(dir string) *inputs { return &inputs{dir: dir, byID: map[string]*labs.Input{}} }

// get gives an input by its id: one uploaded, or the built-in flights.
func (in *inputs) get(id string) (*labs.Input, error) {
	if id == flightsInput {
		return labs.SampleFlights(), nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i, ok := in.byID[id]; ok {
		return i, nil
	}
	return nil, newProblem(http.StatusUnprocessableEntity, "input", fmt.Sprintf("no such input: %q. Upload the file first, or give %q", id, flightsInput))
}

// take stores a file, at most maxInputBytes of it, and reads what it holds. The name is the learner's and is used for its
// ending and in messages only.
func (in *inputs) take(name string, r io.Reader) (string, *labs.Input, error) {
	id := strings.ToLower(rand.Text()[:16])
	dir := filepath.Join(in.dir, id)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, safeName(name))
	input, err := in.store(path, r)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	in.mu.Lock()
	in.byID[id] = input
	in.order = append(in.order, id)
	var old string
	if len(in.order) > maxInputs {
		old, in.order = in.order[0], slices.Clone(in.order[1:])
		delete(in.byID, old)
	}
	in.mu.Unlock()
	if old != "" {
		_ = os.RemoveAll(filepath.Join(in.dir, old))
	}
	return id, input, nil
}

func (in *inputs) store(path string, r io.Reader) (*labs.Input, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(r, maxInputBytes+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge) || n > maxInputBytes:
		return nil, newProblem(http.StatusRequestEntityTooLarge, "file", "larger than the 32 MiB that are allowed: compress it with gzip, or take a part of it")
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "file", "the upload broke off: "+err.Error())
	}
	input, err := labs.OpenInputLimited(path, maxUnpacked)
	if err != nil {
		// The learner knows the file by its name, not by the server's path.
		reason := strings.ReplaceAll(err.Error(), path, filepath.Base(path))
		return nil, newProblem(http.StatusUnprocessableEntity, "file", reason)
	}
	return input, nil
}

// safeName keeps the letters, digits, dots and dashes of a name's last part.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	name = strings.TrimLeft(name, ".")
	if name == "" {
		return "file"
	}
	return name[max(0, len(name)-80):]
}

// removeAll deletes every stored file.
func (in *inputs) removeAll() { _ = os.RemoveAll(in.dir) }
