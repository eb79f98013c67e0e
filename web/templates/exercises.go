package templates

import (
	"html/template"
	"net/url"

	"weir/exercises/kit"
	"weir/labs"
)

// Exercises is the list of all exercises.
type Exercises struct {
	Base
	Chapters []ExerciseChapter
}

// ExerciseChapter has the exercises of the labs of one chapter.
type ExerciseChapter struct {
	ID   string
	Rows []ExerciseRow
}

// ExerciseRow is one exercise with its place in the catalogue.
type ExerciseRow struct {
	Number   int
	Exercise *kit.Exercise
	Lab      *labs.Lab // nil if it is not there yet
}

// Exercise is the page of one.
type Exercise struct {
	Base
	ExerciseRow
	Of   int
	Next *kit.Exercise
	Task template.HTML
	// API and Starter are the interface and the core.go to begin with, of a code exercise.
	API, Starter string
	// Answered is what the learner committed to, nil before.
	Answered map[string]any
}

// exerciseData is what the script of the page needs to know.
type exerciseData struct {
	ID        string         `json:"id"`
	Kind      kit.Kind       `json:"kind"`
	Lab       string         `json:"lab"`
	MaxPoints int            `json:"maxPoints"`
	Starter   string         `json:"starter,omitempty"`
	Answered  map[string]any `json:"answered,omitempty"`
}

func (x Exercise) data() exerciseData {
	return exerciseData{ID: x.Exercise.ID, Kind: x.Exercise.Kind, Lab: x.Exercise.Lab, MaxPoints: x.Exercise.MaxPoints(), Starter: x.Starter, Answered: x.Answered}
}

// labURL is the lab's page, with what the exercise fixes set.
func (x Exercise) labURL() string {
	q := url.Values{}
	for name, v := range x.Exercise.Fixed {
		q.Set(name, shown(v))
	}
	if x.Query.Has("lang") {
		q.Set("lang", x.Lang)
	}
	if len(q) == 0 {
		return "/labs/" + x.Exercise.Lab
	}
	return "/labs/" + x.Exercise.Lab + "?" + q.Encode()
}

// fixedKnob is a knob that a live exercise sets, and the value.
type fixedKnob struct {
	Knob  *labs.Knob
	Value string
}

// fixed are the knobs that the exercise sets where its lab has another value.
func (x Exercise) fixed() []fixedKnob {
	var out []fixedKnob
	if x.Lab == nil {
		return nil
	}
	for i := range x.Lab.Knobs {
		k := &x.Lab.Knobs[i]
		if v, ok := x.Exercise.Fixed[k.Name]; ok {
			out = append(out, fixedKnob{Knob: k, Value: shown(v)})
		}
	}
	return out
}

// movable are the labels of the knobs that a live exercise lets move.
func (x Exercise) movable() []labs.Knob {
	var out []labs.Knob
	if x.Lab == nil {
		return nil
	}
	for _, name := range x.Exercise.Knobs {
		if k, ok := x.Lab.Knob(name); ok {
			out = append(out, *k)
		}
	}
	return out
}

// seeded is how often a check runs.
func seeded(d *kit.Def) int { return max(1, d.Seeds) }
