package templates

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/labs"
)

// Lab is the page of one lab.
type Lab struct {
	Base
	Lab    *labs.Lab
	Lesson *labs.Lesson
	// Values are those of the knobs, from the address or from the running job.
	Values map[string]any
	// Session is the run that the page shows; empty before one is started.
	Session string
	// Step and Panel are what the address says is looked at.
	Step, Panel string
	// Present is for a projector: large, one panel at a time, without side columns.
	Present bool
	// Exercises are those of this lab.
	Exercises []ExerciseRow
	// Refused are knobs of the address that were refused, with the reason.
	Refused []labs.KnobError
}

// pageData is what the script of the page needs to know.
type pageData struct {
	Lab     string            `json:"lab"`
	Lang    string            `json:"lang"`
	Session string            `json:"session"`
	Step    string            `json:"step"`
	Panel   string            `json:"panel"`
	Knobs   []labs.KnobInfo   `json:"knobs"`
	Values  map[string]any    `json:"values"`
	Labels  map[string]string `json:"labels"`
	Panels  []string          `json:"panels"`
	// Points are the tracepoints that the lab's job may hit.
	Points []string `json:"points"`
	// Flights are the built-in records, of a lab that takes an input.
	Flights *inputColumns `json:"flights,omitempty"`
}

type inputColumns struct {
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
}

func (l Lab) data() pageData {
	info := l.Lab.Info()
	labels := map[string]string{}
	for i := range l.Lab.Knobs {
		labels[l.Lab.Knobs[i].Name] = l.Say(l.Lab.Knobs[i].Label)
	}
	var flights *inputColumns
	if l.Lab.AcceptsInput {
		in := labs.SampleFlights()
		flights = &inputColumns{Columns: in.Columns, Rows: in.Rows}
	}
	return pageData{Lab: l.Lab.ID, Lang: l.Lang, Session: l.Session, Step: l.Step, Panel: l.Panel,
		Knobs: info.Knobs, Values: l.Values, Labels: labels, Panels: l.Lab.Panels, Points: l.Lab.Points(), Flights: flights}
}

// knobGroups are the groups in the order of the page.
var knobGroups = []string{"load", "job", "state", "network", "checkpoints"}

// groups are those of the knobs beside the picture; a projector's page has none.
func (l Lab) groups() []string {
	if l.Present {
		return nil
	}
	return knobGroups
}

// lessonKnobs are what the lesson turns: the knobs that the lab compares, or the first of its text.
func (l Lab) lessonKnobs() []*labs.Knob {
	names := map[string][]string{"backpressure": {"debloat", "workMs"}, "key-groups": {"parallelism", "maxParallelism"}, "skew": {"keys", "twoStage", "maxParallelism"},
		"credit": {"flowControl", "exclusiveBuffers"}, "rescale": {"parallelism", "backend", "maxParallelism"}, "heap": {"readOnlyShare", "snapshotBytesPerSecond"}, "ttl": {"keys", "ttlUpdate", "ttlCleanupEntries"}, "event-time": {"idleInput", "idleTimeoutMs", "outOfOrdernessMs"}}[l.Lab.ID]
	if names == nil {
		names = l.Lab.Compares
	}
	var out []*labs.Knob
	for _, name := range names {
		for i := range l.Lab.Knobs {
			if k := &l.Lab.Knobs[i]; k.Name == name {
				out = append(out, k)
			}
		}
	}
	return out
}

// firstKnobs stand open on the page; the others of their group are under "more".
var firstKnobs = []string{
	"rate", "recordBytes", "workMs", "hotKeyShare", "keys", "keyType",
	"parallelism", "maxParallelism",
	"bufferTimeoutMs", "debloat", "overdraftBuffers",
	"checkpointIntervalMs",
}

// ownKnobs are what a lab is about.
var ownKnobs = map[string][]string{
	"skew": {"twoStage", "workOn"}, "overdraft": {"fanOut"}, "credit": {"flowControl", "exclusiveBuffers", "floatingBuffers"},
	"unaligned": {"checkpointMode", "alignedTimeoutMs"}, "rescale": {"backend", "stateBytesPerKey", "incremental"},
	"heap": {"stateBytesPerKey", "snapshotBytesPerSecond", "readOnlyShare"}, "ttl": {"ttlMs", "ttlUpdate", "ttlCleanupEntries", "readOnlyShare", "backend"},
	"backends":   {"backend", "checkpointStorage", "incremental", "inPlaceUpdate"},
	"event-time": {"idleInput", "idleTimeoutMs", "disorderMs", "outOfOrdernessMs", "windowMs"},
}

func (l Lab) knobsOf(group string, first bool) []*labs.Knob {
	var out []*labs.Knob
	for i := range l.Lab.Knobs {
		k := &l.Lab.Knobs[i]
		if k.Group == group && slices.Contains(l.firsts(), k.Name) == first {
			out = append(out, k)
		}
	}
	return out
}

// firsts leaves out what another lab is about.
func (l Lab) firsts() []string {
	if l.Lab.ID == "backpressure" {
		return slices.DeleteFunc(slices.Clone(firstKnobs), func(n string) bool { return n == "keys" || n == "keyType" || n == "maxParallelism" })
	}
	return slices.Concat(firstKnobs, ownKnobs[l.Lab.ID])
}

// shown is a knob's value as text.
func shown(v any) string {
	switch x := v.(type) {
	case float64, int64, int:
		b, _ := json.Marshal(x)
		return string(b)
	case bool:
		if x {
			return "true"
		}
		return "false"
	}
	return fmt.Sprint(v)
}

func isTrue(v any) bool { b, _ := v.(bool); return b }

// effectIcon is the second cue of when a knob takes effect.
func effectIcon(k *labs.Knob) string {
	switch k.TakesEffect {
	case labs.Now:
		return "dot"
	case labs.NextCheckpoint:
		return "dia"
	}
	return "restart"
}

func effectKey(k *labs.Knob) string { return "effect." + strings.ReplaceAll(k.TakesEffect, " ", "-") }

// option is the line under a knob that says what does the same in Flink.
func (l Lab) option(k *labs.Knob) string {
	switch {
	case k.ConstantInFlink:
		return l.T("knob.constant")
	case k.FlinkOption == "":
		return l.T("knob.none")
	}
	return k.FlinkOption
}

// describes are the elements that say more of a knob: what does the same in Flink, and what it is for.
func (l Lab) describes(k *labs.Knob) string {
	if l.Present {
		return "kd-" + k.Name
	}
	return "kd-" + k.Name + " kh-" + k.Name
}

// unit is a knob's unit in the language of the page.
func (l Lab) unit(k *labs.Knob) string {
	if k.Unit == "" {
		return ""
	}
	if text := l.T("unit." + k.Unit); !strings.HasPrefix(text, "[") {
		return text
	}
	return k.Unit
}

func (h Home) runURL(r Running) string {
	q := url.Values{"session": {r.ID}}
	if h.Query.Has("lang") {
		q.Set("lang", h.Lang)
	}
	return "/labs/" + r.Lab + "?" + q.Encode()
}

// stepNumber is a step's place in the lesson, from 1.
func stepNumber(i int) string { return fmt.Sprint(i + 1) }
