package labs

import (
	"weir/engine/metric"
	"weir/engine/network"
)

// The states of a claim.
const (
	Shown        = "shown"
	Waiting      = "waiting"
	Contradicted = "contradicted"
)

// EvidenceDef is a claim that the running job proves or refutes.
type EvidenceDef struct {
	ID    string
	Claim Text
	judge func(*observed) verdict
}

// EvidenceState is a claim with what the job has said to it so far.
type EvidenceState struct {
	ID      string `json:"id"`
	Claim   Text   `json:"claim"`
	State   string `json:"state"`
	Reading Text   `json:"reading"`
}

// verdict is what one look at the job says to a claim.
type verdict struct {
	applies bool // the job is in the condition that the claim speaks of
	holds   bool
	reading Message
}

// KnobChange is a change of a knob while the job ran: a pin on every time axis.
type KnobChange struct {
	AtMs int64  `json:"atMs"`
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

const (
	// settleMs passes after a change of a knob before readings count: what was in flight before it must have drained.
	settleMs = 5000
	// patienceMs is how long readings must speak against a claim, one after the other, to contradict it.
	patienceMs = 10_000
)

// window sums counters while the knobs stand still.
type window struct {
	fromMs, toMs             int64
	records, buffers         int64 // at the newest look, since the start of the window
	baseRecords, baseBuffers int64
	doneMs                   int64 // of closed windows of the same kind
	doneRecords, doneBuffers int64
	open                     bool
}

func (w *window) look(atMs, records, buffers int64) {
	if !w.open || records < w.baseRecords {
		w.close()
		w.open, w.fromMs, w.baseRecords, w.baseBuffers = true, atMs, records, buffers
	}
	w.toMs, w.records, w.buffers = atMs, records-w.baseRecords, buffers-w.baseBuffers
}

func (w *window) close() {
	if w.open {
		w.doneMs += w.toMs - w.fromMs
		w.doneRecords += w.records
		w.doneBuffers += w.buffers
	}
	w.open, w.records, w.buffers, w.fromMs, w.toMs = false, 0, 0, 0, 0
}

func (w *window) seconds() float64 { return float64(w.doneMs+w.toMs-w.fromMs) / 1000 }
func (w *window) recordsPerSecond() float64 {
	return float64(w.doneRecords+w.records) / w.seconds()
}
func (w *window) buffersPerSecond() float64 {
	return float64(w.doneBuffers+w.buffers) / w.seconds()
}

// half is what was observed with debloating off, or on.
type half struct {
	window      window
	checkpoints []int64 // durations in ms, those triggered once the job had settled
}

// observed is what the judges look at.
type observed struct {
	s    *metric.Snapshot
	v    Values
	diag Diagnosis
	// settledMs is how long the job has run since it had settled after the last change; negative before.
	settledMs int64
	off, on   half
	// rows are the lab's comparisons under the present load, row the one in force.
	rows []Comparison
	row  *Comparison
	// frames are the newest of the connections, where the lab keeps them.
	frames []network.FrameEvent
	// rescaled tells that the parallelism was changed in this run.
	rescaled bool
	// touched is the error that an operator was given that touched its state outside a record.
	touched string
}

// Evidence follows a job by its snapshots and judges a lab's claims. It has no clock and no goroutine: Observe is called
// about once a second with the newest snapshot, and it is not safe for concurrent use.
type Evidence struct {
	lab        *Lab
	o          observed
	changes    int // of them that were seen
	lastChange int64
	restarts   int
	seen       map[int64]bool // checkpoints counted
	compared   *comparisons
	tap        *network.FrameTap // nil where the lab keeps no frames
	states     []EvidenceState
	failing    []int64 // job time since which readings speak against a claim; -1 if they do not
}

// NewEvidence makes a judge for a lab's claims.
func NewEvidence(l *Lab) *Evidence {
	settle := int64(settleMs)
	if l.settleMs > 0 {
		settle = l.settleMs
	}
	e := &Evidence{lab: l, seen: map[int64]bool{}, compared: newComparisons(l.Compares, settle)}
	for _, d := range l.Evidence {
		e.states = append(e.states, EvidenceState{ID: d.ID, Claim: d.Claim, State: Waiting})
		e.failing = append(e.failing, -1)
	}
	return e
}

// Observe takes a snapshot, the knobs it was taken under and all changes of knobs so far.
func (e *Evidence) Observe(s *metric.Snapshot, v Values, changes []KnobChange) {
	for _, c := range changes[min(e.changes, len(changes)):] {
		e.lastChange = c.AtMs
		switch {
		case c.Name == "parallelism":
			e.o.rescaled = true
			fallthrough
		case c.Name != "debloat":
			// Another load, another job: what was measured before is not comparable.
			e.o.off, e.o.on = half{}, half{}
		}
		e.o.off.window.close()
		e.o.on.window.close()
	}
	e.changes = len(changes)
	if s.Restarts > e.restarts {
		e.restarts, e.lastChange = s.Restarts, s.TimeMs
		e.o.off.window.close()
		e.o.on.window.close()
	}
	e.o.s, e.o.v, e.o.diag = s, v, Diagnose(s, v)
	e.o.settledMs = s.TimeMs - e.lastChange - settleMs
	e.measure()
	e.compare()
	for i, d := range e.lab.Evidence {
		e.judge(i, d.judge(&e.o))
	}
}

// Pause ends what is being measured: the time until the next look counts for nothing.
func (e *Evidence) Pause() {
	e.o.off.window.close()
	e.o.on.window.close()
	e.compared.last = nil
}

// compare brings the rows up to date.
func (e *Evidence) compare() {
	e.compared.observe(e.o.s, e.o.v, e.lastChange)
	e.o.rows, e.o.row = e.Comparisons(), nil
	for i := range e.o.rows {
		if e.o.rows[i].Current {
			e.o.row = &e.o.rows[i]
		}
	}
	e.o.frames = e.tap.Frames()
}

// Comparisons returns what was measured under the settings that the lab compares, in the order of their first use.
func (e *Evidence) Comparisons() []Comparison { return e.compared.rows(e.o.v.Settings().SegmentBytes) }

func (e *Evidence) measure() {
	h := &e.o.off
	if e.o.v.Bool("debloat") {
		h = &e.o.on
	}
	s := e.o.s
	if e.o.settledMs >= 0 && s.State == "RUNNING" && len(s.Vertices) > 0 {
		last := &s.Vertices[len(s.Vertices)-1]
		var records, buffers int64
		for i := range last.Subtasks {
			records += last.Subtasks[i].NumRecordsIn
			buffers += last.Subtasks[i].NumBuffersInLocal + last.Subtasks[i].NumBuffersInRemote
		}
		h.window.look(s.TimeMs, records, buffers)
	}
	for i := len(s.Checkpoints) - 1; i >= 0; i-- {
		c := &s.Checkpoints[i]
		if c.Status != "COMPLETED" || e.seen[c.ID] {
			continue
		}
		e.seen[c.ID] = true
		// One that began before the knob moved, or while older buffers drained, belongs to neither half.
		if c.TriggerMs >= e.lastChange+settleMs-settleMs/5 {
			h.checkpoints = append(h.checkpoints, c.EndToEndDurationMs)
		}
	}
}

func (e *Evidence) judge(i int, v verdict) {
	st, now := &e.states[i], e.o.s.TimeMs
	switch {
	case !v.applies:
		e.failing[i] = -1
		if st.State == Waiting {
			st.Reading = both(v.reading)
		}
	case v.holds:
		e.failing[i] = -1
		st.State, st.Reading = Shown, both(v.reading)
	default:
		if e.failing[i] < 0 {
			e.failing[i] = now
		}
		if now-e.failing[i] >= patienceMs || st.State == Contradicted {
			st.State, st.Reading = Contradicted, both(v.reading)
		} else if st.State == Waiting {
			st.Reading = both(v.reading)
		}
	}
}

func both(m Message) Text {
	if m.IsZero() {
		return Text{}
	}
	return Text{En: m.In("en"), Zh: m.In("zh")}
}

// States returns the claims with their states, in the lab's order.
func (e *Evidence) States() []EvidenceState { return append([]EvidenceState(nil), e.states...) }

// EvidenceByID finds a claim of a lab.
func (l *Lab) EvidenceByID(id string) (*EvidenceDef, bool) {
	for i := range l.Evidence {
		if l.Evidence[i].ID == id {
			return &l.Evidence[i], true
		}
	}
	return nil, false
}

// subtasksOf returns the subtasks of a vertex, none if the job has no such vertex.
func (o *observed) subtasksOf(vertex string) []metric.Subtask {
	for i := range o.s.Vertices {
		if o.s.Vertices[i].ID == vertex {
			return o.s.Vertices[i].Subtasks
		}
	}
	return nil
}

// least and greatest fold a reading over subtasks; 0 without any.
func least(subtasks []metric.Subtask, read func(*metric.Subtask) float64) float64 {
	var m float64
	for i := range subtasks {
		if x := read(&subtasks[i]); i == 0 || x < m {
			m = x
		}
	}
	return m
}

func greatest(subtasks []metric.Subtask, read func(*metric.Subtask) float64) float64 {
	var m float64
	for i := range subtasks {
		if x := read(&subtasks[i]); i == 0 || x > m {
			m = x
		}
	}
	return m
}
