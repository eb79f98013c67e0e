package labs

import (
	"math"

	"weir/engine/metric"
)

// The levels of back-pressured time as Flink's web page has them: ok up to 10 %, low up to 50 %, high above.
const (
	LevelOK   = "ok"
	LevelLow  = "low"
	LevelHigh = "high"
)

// The roles that the diagnosis gives to vertices.
const (
	RoleCause  = "cause"
	RoleVictim = "victim"
)

const (
	// busyBehindPressure is how busy (ms/s) the first free vertex behind a pressed one must be to be the cause.
	busyBehindPressure = 500
	// saturated is how busy (ms/s) a vertex is when it has no time left, whether anyone waits for it or not.
	saturated = 950
	// hardBlocked is the time (ms/s) inside a record, waiting for a buffer, from which it is worth a remark.
	hardBlocked = 100
	// skewed is the ratio of the busiest subtask to the mean from which the load is called uneven.
	skewed = 1.5
)

// Diagnosis names the bottleneck of a job and says why, as sentences of the catalogue.
type Diagnosis struct {
	Bottleneck string            `json:"bottleneck"`
	Because    Message           `json:"because"`
	Advice     []Message         `json:"advice,omitempty"`
	Levels     map[string]string `json:"levels"` // by vertex id
	Roles      map[string]string `json:"roles"`  // by vertex id; absent where a vertex has none
}

// peak is what the busiest and the most pressed subtask of a vertex read over the last second. The maximum over the
// subtasks, since a mean hides a single hot one.
type peak struct {
	busy, pressed, meanBusy float64
	busiest                 int
	busiestPressed          float64
}

func peakOf(v *metric.Vertex) peak {
	var p peak
	for i := range v.Subtasks {
		r := &v.Subtasks[i].Recent
		p.pressed = math.Max(p.pressed, r.BackPressured)
		p.meanBusy += r.Busy / float64(len(v.Subtasks))
		if r.Busy > p.busy || i == 0 {
			p.busy, p.busiest, p.busiestPressed = r.Busy, v.Subtasks[i].Index, r.BackPressured
		}
	}
	return p
}

// Diagnose reads the recent readings of a snapshot whose vertices stand in the order of the flow. The bottleneck is the
// first vertex downstream of a back-pressured one whose busiest subtask is busy and not back-pressured itself; without
// back-pressure, a vertex that has no time left.
func Diagnose(s *metric.Snapshot, v Values) Diagnosis {
	d := Diagnosis{Levels: map[string]string{}, Roles: map[string]string{}}
	peaks := make([]peak, len(s.Vertices))
	lastPressed := -1
	for i := range s.Vertices {
		peaks[i] = peakOf(&s.Vertices[i])
		level := metric.BackpressureLevel(peaks[i].pressed)
		d.Levels[s.Vertices[i].ID] = level
		if level != LevelOK {
			lastPressed = i
		}
	}
	cause := -1
	for i, p := range peaks {
		need := float64(saturated)
		if i > 0 && metric.BackpressureLevel(peaks[i-1].pressed) != LevelOK {
			need = busyBehindPressure
		}
		if p.busy >= need && metric.BackpressureLevel(p.busiestPressed) == LevelOK {
			cause = i
			break
		}
	}
	switch {
	case s.State != "RUNNING":
		d.Because = say("diagnosis.notRunning", s.State)
		return d
	case cause < 0 && lastPressed < 0:
		d.Because = say("diagnosis.free")
		return d
	case cause < 0:
		d.Because = say("diagnosis.unclear", s.Vertices[lastPressed].ID, round(peaks[lastPressed].pressed))
		d.Advice = []Message{say("advice.network")}
		return d
	}
	c, p := &s.Vertices[cause], peaks[cause]
	d.Bottleneck = c.ID
	d.Roles[c.ID] = RoleCause
	victim := -1
	for i := range cause {
		if d.Levels[s.Vertices[i].ID] != LevelOK {
			d.Roles[s.Vertices[i].ID] = RoleVictim
			victim = i
		}
	}
	if victim >= 0 {
		w := &s.Vertices[victim]
		d.Because = say("diagnosis.cause", c.ID, p.busiest, round(p.busy), round(p.busiestPressed), w.ID, round(peaks[victim].pressed))
	} else {
		d.Because = say("diagnosis.saturated", c.ID, p.busiest, round(p.busy))
	}
	d.Advice = advise(s, v, c, p, victim >= 0)
	return d
}

func advise(s *metric.Snapshot, v Values, c *metric.Vertex, p peak, pressed bool) []Message {
	var advice []Message
	_, keyed := v["hotKeyShare"]
	switch {
	case keyed && len(c.Subtasks) > 1 && p.meanBusy > 0 && p.busy/p.meanBusy >= skewed:
		advice = append(advice, say("advice.skew", c.ID, p.busiest, round(p.busy), round(p.meanBusy)))
	case v.Float("workMs") > 0 && v.String("workKind") == "cpu":
		advice = append(advice, say("advice.cpu", c.ID))
	case v.Float("workMs")+v.Float("sinkWorkMs") > 0:
		advice = append(advice, say("advice.wait", c.ID))
	}
	for i := range s.Vertices {
		if hard := greatest(s.Vertices[i].Subtasks, func(t *metric.Subtask) float64 { return t.Recent.HardBackPressured }); hard >= hardBlocked {
			advice = append(advice, say("advice.hard", s.Vertices[i].ID, round(hard)))
		}
	}
	if pressed && v.String("flowControl") == "tcp" {
		advice = append(advice, say("advice.tcp"))
	}
	if _, has := v["debloat"]; !has || !pressed {
		return advice
	}
	if done := newestCompleted(s); done != nil && done.EndToEndDurationMs > 2*int64(v.Int("debloatTargetMs")) && !v.Bool("debloat") {
		advice = append(advice, say("advice.debloat", done.ID, done.EndToEndDurationMs, v.Int("debloatTargetMs")))
		if v.String("checkpointMode") == "aligned" {
			advice = append(advice, say("advice.unaligned"))
		}
	}
	return advice
}

func newestCompleted(s *metric.Snapshot) *metric.Checkpoint {
	for i := range s.Checkpoints {
		if s.Checkpoints[i].Status == "COMPLETED" {
			return &s.Checkpoints[i]
		}
	}
	return nil
}

func round(f float64) int64 { return int64(math.Round(f)) }

// annotate writes the diagnosis into a snapshot, in English.
func (d *Diagnosis) annotate(s *metric.Snapshot) {
	out := &metric.Diagnosis{Bottleneck: d.Bottleneck, Because: d.Because.String(), Advice: []string{}}
	for _, a := range d.Advice {
		out.Advice = append(out.Advice, a.String())
	}
	s.Diagnosis = out
	for i := range s.Vertices {
		s.Vertices[i].BackpressureLevel = d.Levels[s.Vertices[i].ID]
		s.Vertices[i].Role = d.Roles[s.Vertices[i].ID]
	}
}
