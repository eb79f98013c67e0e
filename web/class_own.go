package web

import (
	"encoding/json"
	"slices"
	"time"

	"weir/class"
	"weir/labs"
)

// classOwn is the run of a learner who has the engine on their own machine, as that machine says it is.
type classOwn struct {
	Lab    string     `json:"lab,omitempty" maxLength:"64"`
	Mini   *classMini `json:"mini,omitempty" doc:"Of the newest run; none while nothing runs."`
	Claims []string   `json:"claims,omitempty" maxItems:"64"`
}

// mostOwnBars bounds the vertices and checkpoints of a miniature that comes from elsewhere.
const mostOwnBars = 64

// clean leaves of what a learner's machine says of its run what a wall can show. It is somebody else's word: nothing of it
// is taken as it is.
func (o *classOwn) clean() *classOwn {
	l, ok := labs.Get(o.Lab)
	if !ok || o.Mini == nil {
		return &classOwn{}
	}
	m := *o.Mini
	share := func(all []float64) []float64 {
		all = slices.Clone(all[:min(len(all), mostOwnBars)])
		for i := range all {
			all[i] = twoDigits(min(max(all[i], 0), 1))
		}
		return all
	}
	m.State, m.Bottleneck = cutText(shownText(m.State), 32), cutText(shownText(m.Bottleneck), 64)
	m.Busy, m.Pressed = share(m.Busy), share(m.Pressed)
	m.Durations = slices.Clone(m.Durations[:min(len(m.Durations), mostOwnBars)])
	for i := range m.Durations {
		m.Durations[i] = max(m.Durations[i], 0)
	}
	m.RecordsPer, m.TimeMs, m.Checkpoint, m.Changes = twoDigits(min(max(m.RecordsPer, 0), 1e12)), max(m.TimeMs, 0), max(m.Checkpoint, 0), max(m.Changes, 0)
	c := &classOwn{Lab: l.ID, Mini: &m, Claims: []string{}}
	for i := range l.Evidence {
		state := labs.Waiting
		if i < len(o.Claims) && (o.Claims[i] == labs.Shown || o.Claims[i] == labs.Contradicted) {
			state = o.Claims[i]
		}
		c.Claims = append(c.Claims, state)
	}
	return c
}

// put puts the run on a learner's own machine into their place. A claim more that is shown is progress.
func (o *classOwn) put(place *class.Place, now time.Time) {
	m := mini{Claims: o.Claims, Own: true}
	if o.Mini != nil {
		m.classMini = *o.Mini
		shown := 0
		for _, c := range o.Claims {
			if c == labs.Shown {
				shown++
			}
		}
		if shown > place.Shown {
			place.Since = now
		}
		place.Shown, place.Claims = shown, len(o.Claims)
	}
	place.Session, place.Server = "", ""
	if b, err := json.Marshal(m); err == nil {
		place.Mini = b
	}
	if place.Lab == "" && place.Exercise == "" {
		place.Lab = o.Lab
	}
}

// ownMini tells whether a place has the miniature of a run on the learner's own machine.
func ownMini(p *class.Place) bool {
	var m mini
	return len(p.Mini) > 0 && json.Unmarshal(p.Mini, &m) == nil && m.Own
}
