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
	// each is how many files of one learner are kept; 0 where there are no learners.
	each int
	// disks counts them; nil where there are no learners.
	disks *disks

	mu    sync.Mutex
	order []string // ids, oldest first
	byID  map[string]*labs.Input
	of    map[string]belongs // whose they are
	sizes map[string]int64
}

func newInputs(dir string) *inputs {
	return &inputs{dir: dir, byID: map[string]*labs.Input{}, of: map[string]belongs{}, sizes: map[string]int64{}}
}

// get gives an input by its id: one that the caller uploaded, or the built-in flights.
func (in *inputs) get(id string, who *caller) (*labs.Input, error) {
	if id == flightsInput {
		return labs.SampleFlights(), nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i, ok := in.byID[id]; ok {
		if who.mine(in.of[id]) {
			return i, nil
		}
	}
	if who.Kind == owner && in.each > 0 {
		if i, err := in.reopen(id); err == nil {
			return i, nil
		}
	}
	return nil, newProblem(http.StatusUnprocessableEntity, "input", fmt.Sprintf("no such input: %q. Upload the file first, or give %q", id, flightsInput))
}

// take stores a file, at most maxInputBytes of it, and reads what it holds. The name is the learner's and is used for its
// ending and in messages only.
func (in *inputs) take(name string, r io.Reader, who *caller) (string, *labs.Input, error) {
	if in.each > 0 && in.full() {
		return "", nil, newProblem(http.StatusTooManyRequests, "file", fmt.Sprintf("this server keeps %d files and has as many: try later, or run the lab on your own machine", mostClassInputs))
	}
	id := strings.ToLower(rand.Text()[:16])
	dir := filepath.Join(in.dir, id)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, safeName(name))
	of := belongs{who.Class, who.Person}
	counted := &countedReader{r: r, disks: in.disks, of: of}
	input, err := in.store(path, counted)
	if err != nil {
		_ = os.RemoveAll(dir)
		counted.back()
		return "", nil, err
	}
	in.mu.Lock()
	in.sizes[id] = counted.n
	in.byID[id], in.of[id] = input, of
	in.order = append(in.order, id)
	old := in.oldest(of)
	if old != "" {
		in.order = slices.DeleteFunc(slices.Clone(in.order), func(id string) bool { return id == old })
		delete(in.byID, old)
		in.gone(old)
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
	var full *diskError
	switch {
	case errors.As(err, &full):
		return nil, diskProblem(full)
	case errors.As(err, &tooLarge) || n > maxInputBytes:
		return nil, newProblem(http.StatusRequestEntityTooLarge, "file", "larger than the 32 MiB that are allowed: compress it with gzip, or take a part of it")
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "file", "the upload broke off: "+err.Error())
	}
	most := int64(maxUnpacked)
	if in.each > 0 {
		most = mostClassUnpacked
	}
	input, err := labs.OpenInputLimited(path, most)
	if err != nil {
		// The learner knows the file by its name, not by the server's path.
		reason := strings.ReplaceAll(err.Error(), path, filepath.Base(path))
		return nil, newProblem(http.StatusUnprocessableEntity, "file", reason)
	}
	return input, nil
}

// gone gives back what a file had that is removed. in.mu is held.
func (in *inputs) gone(id string) {
	if in.disks != nil {
		in.disks.give(in.of[id], in.sizes[id])
	}
	delete(in.of, id)
	delete(in.sizes, id)
}

// countedReader counts what is read to be stored, unless it is too much for whose it is.
type countedReader struct {
	r     io.Reader
	disks *disks
	of    belongs
	n     int64
}

// Read implements io.Reader.
func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if c.disks == nil || n == 0 {
		return n, err
	}
	if terr := c.disks.take(c.of, int64(n)); terr != nil {
		return 0, terr
	}
	c.n += int64(n)
	return n, err
}

// back gives back what was counted.
func (c *countedReader) back() {
	if c.disks != nil {
		c.disks.give(c.of, c.n)
	}
}

const (
	// mostClassInputs bounds the files of all learners together, and so the disk: each has 32 MiB at most.
	mostClassInputs = 128
	// mostClassUnpacked bounds what the gzip file of a learner may turn into: reading more would cost the others too much.
	mostClassUnpacked = 128 << 20
)

func (in *inputs) full() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.order) >= mostClassInputs
}

// oldest is the file that has to go now that one more of a caller is kept; empty for none. in.mu is held.
func (in *inputs) oldest(of belongs) string {
	if in.each == 0 {
		if len(in.order) > maxInputs {
			return in.order[0]
		}
		return ""
	}
	var mine []string
	for _, id := range in.order {
		if in.of[id] == of {
			mine = append(mine, id)
		}
	}
	if len(mine) > in.each {
		return mine[0]
	}
	return ""
}

// reopen opens a file that a server before this one stored, for a session that comes back. in.mu is held.
func (in *inputs) reopen(id string) (*labs.Input, error) {
	dir := filepath.Join(in.dir, safeName(id))
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		return labs.OpenInputLimited(filepath.Join(dir, f.Name()), mostClassUnpacked)
	}
	return nil, os.ErrNotExist
}

// keepOnly removes the stored files that no session reads.
func (in *inputs) keepOnly(used map[string]bool) {
	files, err := os.ReadDir(in.dir)
	if err != nil {
		return // there are none
	}
	for _, f := range files {
		if !used[f.Name()] {
			_ = os.RemoveAll(filepath.Join(in.dir, f.Name()))
		}
	}
}

// removeOf deletes the files of one learner.
func (in *inputs) removeOf(person string) {
	in.mu.Lock()
	var gone []string
	for id, of := range in.of {
		if of.Person == person {
			gone = append(gone, id)
			delete(in.byID, id)
			in.gone(id)
		}
	}
	in.order = slices.DeleteFunc(in.order, func(id string) bool { return slices.Contains(gone, id) })
	in.mu.Unlock()
	for _, id := range gone {
		_ = os.RemoveAll(filepath.Join(in.dir, id))
	}
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
