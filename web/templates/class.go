package templates

import "weir/labs"

// Member is who looks at a page, of a class. A page without one shows nothing of the class.
type Member struct {
	Kind   string `json:"kind"` // learner or instructor
	Class  string `json:"class"`
	Person string `json:"person,omitempty"`
	// Own tells that the page is of the learner's own machine.
	Own bool `json:"own,omitempty"`
	// Labs and Exercises are titles by id, in the page's language.
	Labs      map[string]string `json:"labs"`
	Exercises map[string]string `json:"exercises"`
}

// Join is the page that a browser gets that is in no class.
type Join struct {
	Base
	// Code is from the address: whoever scans the QR code need not type it.
	Code string
	// Server is the class's, where the page is of the learner's own machine.
	Server string
}

// Wall is the instructor's page.
type Wall struct {
	Base
	Labs      []WallLab
	Exercises []WallExercise
}

// WallLab is what the wall's script knows of a lab: its claims head the columns, its knobs can be preset.
type WallLab struct {
	ID     string      `json:"id"`
	Number int         `json:"number"`
	Title  string      `json:"title"`
	Claims []WallClaim `json:"claims"`
	Knobs  []WallKnob  `json:"knobs"`
}

// WallClaim is a claim of a lab in words.
type WallClaim struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// WallKnob is a knob with its name in words.
type WallKnob struct {
	labs.KnobInfo
	Text string `json:"text"`
}

// WallExercise is an exercise that may have a deadline.
type WallExercise struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// wallData is handed to the wall's script.
type wallData struct {
	Labs      []WallLab      `json:"labs"`
	Exercises []WallExercise `json:"exercises"`
}

func (w Wall) data() wallData { return wallData{Labs: w.Labs, Exercises: w.Exercises} }
