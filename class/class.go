// Package class has the vocabulary and the rules of a course: classes, people, results, questions, deadlines, and the
// grade book. It knows nothing of SQL or HTTP; package store keeps it, package web serves it.
package class

import (
	"encoding/json"
	"errors"
	"time"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("not found")
	ErrClosed   = errors.New("the class is closed")
	ErrConflict = errors.New("changed by somebody else meanwhile")
)

// State of a class.
type State string

// The states of a class. A closed one takes no new people and no results; an archived one is shown to its instructor only.
const (
	Open     State = "open"
	Closed   State = "closed"
	Archived State = "archived"
)

// Class is one course on this server.
type Class struct {
	ID      string
	Name    string
	Code    string // to join, at least 40 bits
	Zone    string // IANA name; deadlines are shown in it
	State   State
	Created time.Time
	Expires time.Time // when it is removed with all it has
	// Scoreboard shows aliases with points to all; MayDrive lets the instructor change a learner's run.
	Scoreboard, MayDrive bool
	Steering             Steering
	// TokenHash is of the instructor's link.
	TokenHash []byte
}

// Steering is what the instructor has all pages do. Version counts its changes, over all servers.
type Steering struct {
	Version   int64          `json:"version"`
	Lab       string         `json:"lab,omitempty"`       // sent to all
	Knobs     map[string]any `json:"knobs,omitempty"`     // preset for it
	Spotlight string         `json:"spotlight,omitempty"` // the session that every page follows
	Frozen    bool           `json:"frozen,omitempty"`
	Question  string         `json:"question,omitempty"` // the open one
	Until     time.Time      `json:"until,omitzero"`     // what all pages count down to
}

// Person is a learner of one class.
type Person struct {
	ID     string
	Class  string
	Name   string // unique in the class: an equal one got a suffix
	Alias  string // on the scoreboard
	Joined time.Time
	Seen   time.Time
	Hand   time.Time // since when the hand is up; zero if it is not
	Place  Place
	// Merged is the person that this one was merged into, by the instructor; empty otherwise.
	Merged string
	// TokenHash is of the cookie and the personal link.
	TokenHash []byte
}

// Place is where a learner is, and for how long.
type Place struct {
	Lab      string    `json:"lab,omitempty"`
	Step     string    `json:"step,omitempty"`
	Exercise string    `json:"exercise,omitempty"`
	Session  string    `json:"session,omitempty"`
	Server   string    `json:"server,omitempty"` // that runs it
	Shown    int       `json:"shown"`            // claims
	Claims   int       `json:"claims"`
	Since    time.Time `json:"since"` // the last progress
	// Mini is the miniature of the session: a few readings, as the server that runs it wrote them last.
	Mini json.RawMessage `json:"mini,omitempty"`
}

// Result is one check of an exercise that was handed in. ID is made by the sender before sending, so that a result that is
// sent twice is kept once.
type Result struct {
	ID        string
	Class     string
	Person    string
	Exercise  string
	Status    string
	Points    int
	MaxPoints int
	Verified  bool // judged by this server
	Late      bool
	Engine    string // version that judged
	Digest    string // of the work
	Source    string // SourceDigest of code, empty for other work; the store sets it
	Sent      time.Time
	Received  time.Time
	Report    json.RawMessage // the exercise's part of the report
	Work      []byte          // what was handed in: a Work as JSON
}

// Deadline is when an exercise is due. Penalty is what a late result loses, in percent of its points; at 100 it is not taken.
type Deadline struct {
	Class    string
	Exercise string
	Due      time.Time
	Penalty  int
}

// Extension moves a deadline for one person.
type Extension struct {
	Class, Exercise, Person string
	Due                     time.Time
}

// Question is a prediction that is asked of all.
type Question struct {
	ID      string
	Class   string
	Text    string
	Choices []string
	Lab     string // the run that decides
	Knobs   map[string]any
	Asked   time.Time
	Ended   time.Time // no answers after it
}

// Answer is one person's; the first counts.
type Answer struct {
	Question, Person string
	Choice           int
	At               time.Time
}

// Session is a run that a learner owns, as far as it must come back after a restart of its server.
type Session struct {
	ID      string
	Class   string
	Person  string // empty: the instructor's
	Server  string
	Lab     string
	Knobs   map[string]any
	Dir     string // of its checkpoints, on that server
	Started time.Time
}

// Audited is something that an instructor did.
type Audited struct {
	Class string
	At    time.Time
	Who   string // instructor, or the server itself
	What  string // such as "spotlight", "merge", "extension"
	About string
}
