package labs

import (
	"fmt"
	"slices"
	"strings"

	"weir/engine/job"
	"weir/engine/trace"
)

// The chapters of the catalogue.
const (
	ChapterNetwork = "network"
	ChapterState   = "state"
)

// Lab is one teaching lab.
type Lab struct {
	ID      string
	Chapter string
	Number  int // running, over all chapters
	Title   Text
	Summary Text
	Minutes int
	Level   string // intro core deep
	Knobs   []Knob
	// Panels are the parts of the lab page, in order.
	Panels   []string
	Evidence []EvidenceDef
	// Compares are the knobs whose settings the lab's table sets side by side; none without a table.
	Compares []string
	// settleMs is how long after a change readings count for that table, if not as long as for the claims.
	settleMs int64
	// AcceptsInput tells whether records may come from a file.
	AcceptsInput bool
	// inputKnobs are the defaults that differ when records come from a file.
	inputKnobs map[string]any
	// build makes the job graph.
	build func(Values, *Input, *probes) (job.Graph, error)
}

// Points are the names of the tracepoints that the lab's page lists: those of the network everywhere, those of state where
// the lab is about state, and there first.
func (l *Lab) Points() []string {
	var network, state []string
	for _, p := range trace.Points() {
		if p.OfState() {
			state = append(state, p.String())
		} else {
			network = append(network, p.String())
		}
	}
	if l.Chapter == ChapterState {
		return append(state, network...)
	}
	return network
}

// All returns the labs there are, in the catalogue's order.
func All() []*Lab { return slices.Clone(catalogueOfLabs) }

// Get finds a lab.
func Get(id string) (*Lab, bool) {
	for _, l := range catalogueOfLabs {
		if l.ID == id {
			return l, true
		}
	}
	return nil, false
}

// Find finds a lab; the error names the labs there are.
func Find(id string) (*Lab, error) {
	if l, ok := Get(id); ok {
		return l, nil
	}
	ids := make([]string, len(catalogueOfLabs))
	for i, l := range catalogueOfLabs {
		ids[i] = l.ID
	}
	if near := Nearest(id, ids); len(near) > 0 {
		return nil, fmt.Errorf("no lab %q: did you mean %s?", id, strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("no lab %q: there are %s", id, strings.Join(ids, ", "))
}

var catalogueOfLabs = numbered(bufferTimeoutLab(), backpressureLab(), creditLab(), skewLab(), overdraftLab(), unalignedLab(), keyGroupsLab(), backendsLab(), heapLab(), lsmLab(), incrementalLab(), rescaleLab(), ttlLab(), eventTimeLab())

// numbered gives labs one running number over all chapters.
func numbered(list ...*Lab) []*Lab {
	for i, l := range list {
		l.Number = i + 1
	}
	return list
}

// use takes a knob from the registry with the lab's own default, and limits if given.
type use struct {
	name     string
	deflt    any
	min, max any
}

// pick makes a lab's knobs. A name or a default that the registry refuses is a mistake in the lab's definition, which
// the first test or start shows.
func pick(uses ...use) []Knob {
	knobs := make([]Knob, 0, len(uses))
	for _, u := range uses {
		r, ok := knobByName(u.name)
		if !ok {
			panic("labs: no knob " + u.name)
		}
		k := *r
		if u.min != nil {
			k.Min, _ = asFloat(u.min)
		}
		if u.max != nil {
			k.Max, _ = asFloat(u.max)
		}
		if u.deflt != nil {
			v, err := k.Parse(u.deflt)
			if err != nil {
				panic("labs: " + err.Error())
			}
			k.Default = v
		}
		knobs = append(knobs, k)
	}
	return knobs
}

// knob takes a knob with the registry's default.
func knob(name string) use { return use{name: name} }

// preset takes a knob with the lab's default.
func preset(name string, value any) use { return use{name: name, deflt: value} }

// LabInfo is a lab as the commands and the API list it.
type LabInfo struct {
	ID           string     `json:"id"`
	Chapter      string     `json:"chapter"`
	Number       int        `json:"number"`
	Title        string     `json:"title"`
	TitleZh      string     `json:"titleZh"`
	Summary      string     `json:"summary"`
	SummaryZh    string     `json:"summaryZh"`
	Minutes      int        `json:"minutes"`
	Level        string     `json:"level"`
	AcceptsInput bool       `json:"acceptsInput"`
	Panels       []string   `json:"panels"`
	Compares     []string   `json:"compares,omitempty"` // knobs that the lab's table sets side by side
	Knobs        []KnobInfo `json:"knobs"`
	Evidence     []string   `json:"evidence"`
}

// KnobInfo is a knob as the commands and the API list it.
type KnobInfo struct {
	Name            string   `json:"name"`
	Type            string   `json:"type"`
	Default         any      `json:"default"`
	Min             *float64 `json:"min,omitempty"`
	Max             *float64 `json:"max,omitempty"`
	Unit            string   `json:"unit,omitempty"`
	Values          []string `json:"values,omitempty"`
	FlinkOption     string   `json:"flinkOption,omitempty"`
	TakesEffect     string   `json:"takesEffect"`
	StartsEmpty     bool     `json:"startsEmpty,omitempty"`
	Label           string   `json:"label"`
	LabelZh         string   `json:"labelZh"`
	Help            string   `json:"help"`
	HelpZh          string   `json:"helpZh"`
	Group           string   `json:"group"`
	ConstantInFlink bool     `json:"constantInFlink,omitempty"`
	Scale           string   `json:"scale,omitempty"`
}

// Info returns the lab's entry in the list.
func (l *Lab) Info() LabInfo {
	i := LabInfo{
		ID: l.ID, Chapter: l.Chapter, Number: l.Number, Title: l.Title.En, TitleZh: l.Title.Zh, Summary: l.Summary.En, SummaryZh: l.Summary.Zh,
		Minutes: l.Minutes, Level: l.Level, AcceptsInput: l.AcceptsInput, Panels: l.Panels, Compares: l.Compares,
	}
	for n := range l.Knobs {
		i.Knobs = append(i.Knobs, l.Knobs[n].Info())
	}
	for _, e := range l.Evidence {
		i.Evidence = append(i.Evidence, e.ID)
	}
	return i
}

// Info returns the knob's entry in the list.
func (k *Knob) Info() KnobInfo {
	i := KnobInfo{
		Name: k.Name, Type: k.Type, Default: k.Default, Unit: k.Unit, Values: k.Values, FlinkOption: k.FlinkOption, TakesEffect: k.TakesEffect,
		StartsEmpty: k.StartsEmpty, Label: k.Label.En, LabelZh: k.Label.Zh, Help: k.Help.En, HelpZh: k.Help.Zh, Group: k.Group,
		ConstantInFlink: k.ConstantInFlink, Scale: k.Scale,
	}
	if k.Type == Int || k.Type == Float {
		i.Min, i.Max = &k.Min, &k.Max
	}
	return i
}

// List returns the entries of all labs.
func List() []LabInfo {
	infos := make([]LabInfo, 0, len(catalogueOfLabs))
	for _, l := range catalogueOfLabs {
		infos = append(infos, l.Info())
	}
	return infos
}
