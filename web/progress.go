package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/labs"
	"weir/whole"
)

// progressVersion is that of the file and of an export.
const progressVersion = 1

// Progress is how far a learner is, as the data folder, an export and the browser keep it.
type Progress struct {
	Version   int                         `json:"version"`
	Labs      map[string]LabProgress      `json:"labs"`
	Exercises map[string]ExerciseProgress `json:"exercises"`
	_         struct{}                    `json:"-" additionalProperties:"true"`
}

// LabProgress is that of one lab.
type LabProgress struct {
	Step   string         `json:"step" enum:"predict,run,observe,explain"`
	Done   []string       `json:"done" maxItems:"4"`
	Choice *LabChoice     `json:"choice,omitempty"`
	Note   string         `json:"note,omitempty" maxLength:"2000"`
	Quiz   map[string]int `json:"quiz,omitempty" doc:"The answers, by question from 0."`
	AtMs   int64          `json:"atMs,omitempty" doc:"When it changed last; the newer one wins."`
	_      struct{}       `json:"-" additionalProperties:"true"`
}

// LabChoice is what was predicted.
type LabChoice struct {
	Text string `json:"text" maxLength:"500"`
	N    int    `json:"n"`
	At   string `json:"at" maxLength:"100"`
}

// ExerciseProgress is that of one exercise. The first answer and the best result stay.
type ExerciseProgress struct {
	Status     kit.Status     `json:"status,omitempty"`
	Points     int            `json:"points"`
	MaxPoints  int            `json:"maxPoints"`
	Tries      int            `json:"tries"`
	Hints      int            `json:"hints" doc:"How many were opened."`
	Core       string         `json:"core,omitempty" maxLength:"262144"`
	Answer     map[string]any `json:"answer,omitempty" doc:"What was committed to first."`
	AnsweredMs int64          `json:"answeredMs,omitempty"`
	AtMs       int64          `json:"atMs,omitempty"`
	_          struct{}       `json:"-" additionalProperties:"true"`
}

func emptyProgress() *Progress {
	return &Progress{Version: progressVersion, Labs: map[string]LabProgress{}, Exercises: map[string]ExerciseProgress{}}
}

// copy has maps of its own.
func (p *Progress) copy() *Progress {
	return &Progress{Version: p.Version, Labs: maps.Clone(p.Labs), Exercises: maps.Clone(p.Exercises)}
}

// merge takes other in: what either of them has. Labs and exercises that there are no more are left out.
func (p *Progress) merge(other *Progress) {
	for id, o := range other.Labs {
		if _, ok := labs.Get(id); !ok {
			continue
		}
		mine, had := p.Labs[id]
		if !had || o.AtMs >= mine.AtMs {
			o.Done = union(mine.Done, o.Done)
			if mine.Choice != nil {
				o.Choice = mine.Choice
			}
			p.Labs[id] = o
		} else {
			mine.Done = union(mine.Done, o.Done)
			p.Labs[id] = mine
		}
	}
	for id, o := range other.Exercises {
		e, err := exercises.Find(id)
		if err != nil {
			continue
		}
		o.MaxPoints = e.MaxPoints()
		o.Points = min(max(o.Points, 0), o.MaxPoints) // an exercise may have had more before
		mine, had := p.Exercises[id]
		if !had {
			p.Exercises[id] = o
			continue
		}
		p.Exercises[id] = mine.with(o)
	}
}

func (e ExerciseProgress) with(o ExerciseProgress) ExerciseProgress {
	out := e
	if o.Points > e.Points || o.Status == kit.Passed {
		out.Status, out.Points, out.MaxPoints = o.Status, o.Points, o.MaxPoints
	} else if e.Status == "" {
		out.Status, out.MaxPoints = o.Status, o.MaxPoints
	}
	out.Tries, out.Hints = max(e.Tries, o.Tries), max(e.Hints, o.Hints)
	if o.AtMs >= e.AtMs && o.Core != "" {
		out.Core = o.Core
	}
	if o.Answer != nil && (e.Answer == nil || o.AnsweredMs < e.AnsweredMs) {
		out.Answer, out.AnsweredMs = o.Answer, o.AnsweredMs
	}
	out.AtMs = max(e.AtMs, o.AtMs)
	return out
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if slices.Contains(labs.StepIDs, x) && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// progressFile keeps the progress of the one person that the server has, in the data folder. Its methods may be called
// from any goroutine.
type progressFile struct {
	path string
	mu   sync.Mutex
	p    *Progress
}

// openProgress reads the file, or begins without one. A file that cannot be read is an error: it would be overwritten.
func openProgress(dir string) (*progressFile, error) {
	f := &progressFile{path: filepath.Join(dir, "progress.json"), p: emptyProgress()}
	b, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	}
	p := emptyProgress()
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: move it away to begin anew", f.path, err)
	}
	if p.Version != progressVersion {
		return nil, fmt.Errorf("%s is of version %d, this program knows version %d: move it away to begin anew", f.path, p.Version, progressVersion)
	}
	f.p.merge(p)
	return f, nil
}

// get is a copy.
func (f *progressFile) get() *Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.p.copy()
}

// change keeps what how makes of it.
func (f *progressFile) change(how func(*Progress)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	how(f.p)
	b, err := json.MarshalIndent(f.p, "", " ")
	if err != nil {
		return err
	}
	return whole.Write(f.path, b)
}
