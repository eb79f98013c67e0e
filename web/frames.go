package web

import (
	"strconv"
	"sync"
	"time"

	"weir/engine/metric"
	"weir/labs"
	"weir/web/delta"
)

// picture is what the stream sends: the Snapshot with what a page shows beside it.
type picture struct {
	*metric.Snapshot
	// Session is the id; a reader that reconnects sees that it is the same run.
	Session string `json:"session"`
	// Evidence is judged on the server; the page only shows it.
	Evidence []labs.EvidenceState `json:"evidence"`
	// Changes are the knob changes so far, for the pins on the time axes.
	Changes []labs.KnobChange `json:"changes"`
	// Explain says of each checkpoint, by its id, where its time went.
	Explain map[string]labs.Text `json:"explain"`
	// Because is the diagnosis in words, in both languages.
	Because labs.Text `json:"because"`
}

// pictureOf takes what there is to see now.
func pictureOf(s *session, evidence []labs.EvidenceState) picture {
	snap := s.run.Snapshot()
	p := picture{Snapshot: snap, Session: s.id, Evidence: evidence, Changes: s.run.Events(), Explain: map[string]labs.Text{}}
	for i := range snap.Checkpoints {
		c := &snap.Checkpoints[i]
		p.Explain[strconv.FormatInt(c.ID, 10)] = inBoth(labs.ExplainCheckpoint(c).Message)
	}
	if snap.Diagnosis != nil && snap.Diagnosis.Bottleneck != "" {
		p.Because = inBoth(s.run.Diagnosis().Because)
	}
	return p
}

func inBoth(m labs.Message) labs.Text { return labs.Text{En: m.In("en"), Zh: m.In("zh")} }

// evidenceEvery is how often the claims are judged anew.
const evidenceEvery = 500 * time.Millisecond

// ratesEvery is how often readings over a second or more are taken anew. Sent ten times a second they would be a third of
// every message and tell nothing more.
const ratesEvery = 300 * time.Millisecond

// slowReadings are those of a subtask.
var slowReadings = []string{"recent", "accumulated", "meanFill", "mailboxLatencyMs", "latencyMs"}

// holdRates keeps the slow readings of the picture before, where the job still has the same subtasks.
func holdRates(t, before delta.Tree) {
	if now, ok := t["totals"].(delta.Tree); ok {
		if then, ok := before["totals"].(delta.Tree); ok && now["countsByKey"] != nil && then["countsByKey"] != nil {
			now["countsByKey"] = then["countsByKey"]
		}
	}
	vertices, _ := t["vertices"].([]any)
	old, _ := before["vertices"].([]any)
	if len(vertices) != len(old) {
		return
	}
	for i := range vertices {
		v, _ := vertices[i].(delta.Tree)
		o, _ := old[i].(delta.Tree)
		now, _ := v["subtasks"].([]any)
		then, _ := o["subtasks"].([]any)
		if len(now) != len(then) {
			return
		}
		for j := range now {
			n, _ := now[j].(delta.Tree)
			o, _ := then[j].(delta.Tree)
			for _, name := range slowReadings {
				if reading, ok := o[name]; ok {
					n[name] = reading
				}
			}
		}
	}
}

// frames makes the pictures of a session on demand: no viewer, no work. Viewers that ask within a short time get the same
// frame, and those that saw the same one before get the same bytes.
type frames struct {
	of *session

	mu       sync.Mutex
	last     *frame
	at       time.Time
	judged   time.Time
	rated    time.Time
	evidence []labs.EvidenceState
}

// newest returns a picture that is no older than maxAge, and whether it was taken by this call.
func (f *frames) newest(maxAge time.Duration) (latest *frame, taken bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.last != nil && now.Sub(f.at) < maxAge {
		return f.last, false, nil
	}
	if now.Sub(f.judged) >= evidenceEvery {
		f.evidence, f.judged = f.of.run.Evidence(), now
	}
	t, err := delta.Of(pictureOf(f.of, f.evidence))
	if err != nil {
		return nil, false, err
	}
	if f.last != nil && now.Sub(f.rated) < ratesEvery {
		holdRates(t, f.last.tree)
	} else {
		f.rated = now
	}
	seq := int64(1)
	if f.last != nil {
		seq = f.last.seq + 1
	}
	f.last, f.at = &frame{seq: seq, tree: t}, now
	return f.last, true, nil
}
