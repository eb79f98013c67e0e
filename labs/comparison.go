package labs

import (
	"encoding/json"
	"math"
	"slices"

	"weir/engine/metric"
)

// Comparison is what was measured while the knobs that a lab compares had certain values: a row of its table, filled by
// the learner's own run. Rates are means over the measured time, times are in ms and ms/s, sizes in bytes.
type Comparison struct {
	// Knobs are the compared ones.
	Knobs map[string]any `json:"knobs"`
	// Current marks the row that is being filled.
	Current bool `json:"current"`
	// Seconds were measured; readings count when the job has settled after a change.
	Seconds float64 `json:"seconds"`

	EmittedPerSecond        float64   `json:"emittedPerSecond"`        // by all sources
	RecordsPerSecond        float64   `json:"recordsPerSecond"`        // into slow-map
	SubtaskRecordsPerSecond []float64 `json:"subtaskRecordsPerSecond"` // of it
	BuffersPerSecond        float64   `json:"buffersPerSecond"`        // into slow-map, events included as Flink counts them
	MeanBufferBytes         float64   `json:"meanBufferBytes"`         // events left out
	MeanFill                float64   `json:"meanFill"`                // as a share of a segment
	// Gain is EmittedPerSecond against that of the first row; 0 where it is not known yet.
	Gain float64 `json:"gain,omitempty"`

	Latency        *metric.Latency `json:"latencyMs,omitempty"`
	LatencyBuckets []metric.Bucket `json:"latencyBuckets,omitempty"` // upper bounds double

	BackPressured    float64 `json:"backPressured"` // of the source's most pressed subtask
	SoftPressed      float64 `json:"softBackPressured"`
	HardPressed      float64 `json:"hardBackPressured"`
	BusiestMs        float64 `json:"busiest"` // of slow-map
	IdlestMs         float64 `json:"idlest"`
	OutPoolUsageMax  float64 `json:"outPoolUsageMax"`
	OverdraftMax     int     `json:"overdraftMax"` // most overdraft buffers of a pool in use at one look
	MailboxLatencyMs float64 `json:"mailboxLatencyMs"`

	Checkpoints    int     `json:"checkpoints"` // completed ones that count; the four below are their medians
	CheckpointMs   float64 `json:"checkpointMs"`
	PersistedBytes float64 `json:"persistedBytes"`
	ProcessedBytes float64 `json:"processedBytes"`
	// StateBytes is all that a checkpoint refers to, CheckpointedBytes what it wrote; KeyedBytes is what the last vertex has in
	// keyed state at the newest look.
	StateBytes        float64 `json:"stateBytes"`
	CheckpointedBytes float64 `json:"checkpointedBytes"`
	KeyedBytes        int64   `json:"keyedBytes"`
	Phases            Phases  `json:"phases"` // of the slowest subtask

	// Over all remote channels together, since the row's start.
	AddCreditMessages int64 `json:"addCreditMessages"`
	AnnouncedCredits  int64 `json:"announcedCredits"`
	SentBuffers       int64 `json:"sentBuffers"`
	Overtaken         int64 `json:"overtaken"`
}

// Phases are what a subtask's part of a checkpoint took.
type Phases struct {
	StartDelayMs float64 `json:"startDelayMs"`
	AlignmentMs  float64 `json:"alignmentMs"`
	SyncMs       float64 `json:"syncMs"`
	AsyncMs      float64 `json:"asyncMs"`
}

func (p Phases) sum() float64 { return p.StartDelayMs + p.AlignmentMs + p.SyncMs + p.AsyncMs }

// comparisonRow gathers one row.
type comparisonRow struct {
	key   string
	knobs map[string]any

	ms                                 int64
	emitted, records, buffers, bytes   int64
	bySubtask                          []int64
	filled                             int64 // buffers without events
	messages, credits, sent, overtaken int64
	pressed, soft, hard, busy, idle    float64 // sums over the looks
	looks                              float64
	usage, mail                        float64
	overdraft                          int
	keyed                              int64
	latency                            *metric.Latency
	buckets                            []metric.Bucket

	checkpoints []metric.Checkpoint // those that count, without their subtasks
	phases      []Phases
}

// comparisons keeps the rows. Rows under another load, or another job, are not comparable: they are kept apart and shown
// again when that load returns.
type comparisons struct {
	compared []string // names of knobs
	settleMs int64

	contexts map[string][]*comparisonRow
	context  string
	row      *comparisonRow
	sinceMs  int64 // of the last change

	last *metric.Snapshot // the look before, in the same row; nil at its start
	seen map[checkpointKey]bool
}

// checkpointKey tells checkpoints apart also when a job that began anew numbers them from 1 again.
type checkpointKey struct{ id, triggerMs int64 }

func newComparisons(compared []string, settleMs int64) *comparisons {
	return &comparisons{compared: compared, settleMs: settleMs, contexts: map[string][]*comparisonRow{}, seen: map[checkpointKey]bool{}}
}

// canonical writes knobs so that equal ones are equal as text.
func canonical(v map[string]any) string {
	b, err := json.Marshal(v) // sorted by name
	if err != nil {
		return ""
	}
	return string(b)
}

// split divides the knobs into the compared ones and the rest.
func (c *comparisons) split(v Values) (compared, rest map[string]any) {
	compared, rest = map[string]any{}, map[string]any{}
	for name, value := range v {
		if slices.Contains(c.compared, name) {
			compared[name] = value
		} else {
			rest[name] = value
		}
	}
	return compared, rest
}

// observe takes a look at the job; changedMs is the job time of the last change of a knob or restart.
func (c *comparisons) observe(s *metric.Snapshot, v Values, changedMs int64) {
	if len(c.compared) == 0 {
		return
	}
	knobs, rest := c.split(v)
	context, key := canonical(rest), canonical(knobs)
	if c.row == nil || context != c.context || key != c.row.key || changedMs != c.sinceMs {
		c.context, c.sinceMs, c.last = context, changedMs, nil
		c.row = nil
		for _, r := range c.contexts[context] {
			if r.key == key {
				c.row = r
			}
		}
		if c.row == nil {
			c.row = &comparisonRow{key: key, knobs: knobs}
			c.contexts[context] = append(c.contexts[context], c.row)
		}
	}
	c.row.takeCheckpoints(s, c.seen, changedMs+c.settleMs)
	if s.State != "RUNNING" || s.TimeMs < changedMs+c.settleMs || len(s.Vertices) < 2 {
		c.last = nil
		return
	}
	if c.last != nil {
		c.row.look(c.last, s)
	}
	c.last = s
}

// takeCheckpoints counts those that were triggered when the job had settled, each once.
func (r *comparisonRow) takeCheckpoints(s *metric.Snapshot, seen map[checkpointKey]bool, fromMs int64) {
	for i := len(s.Checkpoints) - 1; i >= 0; i-- {
		c := s.Checkpoints[i]
		key := checkpointKey{c.ID, c.TriggerMs}
		if c.Status != "COMPLETED" || seen[key] {
			continue
		}
		seen[key] = true
		if c.TriggerMs < fromMs-1000 {
			continue
		}
		var slowest Phases
		for _, x := range c.Subtasks {
			if p := (Phases{x.StartDelayMs, x.AlignmentMs, x.SyncMs, x.AsyncMs}); p.sum() > slowest.sum() {
				slowest = p
			}
		}
		c.Subtasks = nil
		r.checkpoints = append(r.checkpoints, c)
		r.phases = append(r.phases, slowest)
	}
}

// counts are the counters that a row adds up.
type counts struct {
	emitted, records, buffers, bytes   int64
	bySubtask                          []int64
	filled                             int64
	messages, credits, sent, overtaken int64
}

// comparedVertex is slow-map, whatever is chained to it; the last vertex of a job without one.
func comparedVertex(s *metric.Snapshot) *metric.Vertex {
	for i := range s.Vertices {
		if s.Vertices[i].ID == "slow-map" {
			return &s.Vertices[i]
		}
	}
	return &s.Vertices[len(s.Vertices)-1]
}

func countsOf(s *metric.Snapshot) counts {
	c := counts{emitted: s.Totals.RecordsEmitted}
	v := comparedVertex(s)
	for i := range v.Subtasks {
		t := &v.Subtasks[i]
		c.records += t.NumRecordsIn
		c.buffers += t.NumBuffersInLocal + t.NumBuffersInRemote
		c.bytes += t.NumBytesIn
		c.bySubtask = append(c.bySubtask, t.NumRecordsIn)
	}
	for i := range s.Channels {
		x := &s.Channels[i]
		c.overtaken += x.Overtaken
		if x.To.Vertex == v.ID {
			c.filled += x.SentBuffers
		}
		if x.Kind == "remote" {
			c.messages += x.SentAddCredit
			c.credits += x.AnnouncedCredit
			c.sent += x.SentBuffers
		}
	}
	return c
}

// look adds what happened between two looks.
func (r *comparisonRow) look(a, b *metric.Snapshot) {
	from, to := countsOf(a), countsOf(b)
	ms := b.TimeMs - a.TimeMs
	if ms <= 0 || to.records < from.records || to.emitted < from.emitted || len(from.bySubtask) != len(to.bySubtask) || to.sent < from.sent {
		return // the job began anew in between
	}
	r.ms += ms
	r.emitted += to.emitted - from.emitted
	r.records += to.records - from.records
	r.buffers += to.buffers - from.buffers
	r.bytes += to.bytes - from.bytes
	r.filled += to.filled - from.filled
	if len(r.bySubtask) != len(to.bySubtask) {
		r.bySubtask = make([]int64, len(to.bySubtask))
	}
	for i := range to.bySubtask {
		r.bySubtask[i] += to.bySubtask[i] - from.bySubtask[i]
	}
	r.messages += to.messages - from.messages
	r.credits += to.credits - from.credits
	r.sent += to.sent - from.sent
	r.overtaken += to.overtaken - from.overtaken
	r.gauges(b)
}

func (r *comparisonRow) gauges(s *metric.Snapshot) {
	source, last := s.Vertices[0].Subtasks, comparedVertex(s).Subtasks
	r.looks++
	r.pressed += greatest(source, func(t *metric.Subtask) float64 { return t.Recent.BackPressured })
	r.soft += greatest(source, func(t *metric.Subtask) float64 { return t.Recent.SoftBackPressured })
	r.hard += greatest(source, func(t *metric.Subtask) float64 { return t.Recent.HardBackPressured })
	r.busy += greatest(last, func(t *metric.Subtask) float64 { return t.Recent.Busy })
	r.idle += greatest(last, func(t *metric.Subtask) float64 { return t.Recent.Idle })
	r.usage = math.Max(r.usage, greatest(source, func(t *metric.Subtask) float64 { return t.OutPoolUsageMax }))
	r.mail = math.Max(r.mail, greatest(source, func(t *metric.Subtask) float64 { return t.MailboxLatencyMs }))
	r.keyed = 0
	for i := range last {
		if st := last[i].State; st != nil {
			r.keyed += st.Bytes
		}
	}
	for i := range s.Pools {
		r.overdraft = max(r.overdraft, s.Pools[i].OverdraftInUse)
	}
	if buckets, summary := mergeLatency(last); summary != nil {
		r.buckets, r.latency = buckets, summary
	}
}

// mergeLatency puts the histograms of several subtasks into one with doubling bounds.
func mergeLatency(subtasks []metric.Subtask) ([]metric.Bucket, *metric.Latency) {
	var sum metric.Latency
	fine := map[float64]int64{}
	var total int64
	for i := range subtasks {
		for _, b := range subtasks[i].LatencyBuckets {
			fine[b.UpToMs] += b.Count
			total += b.Count
		}
		if l := subtasks[i].LatencyMs; l != nil {
			sum.Max = math.Max(sum.Max, l.Max)
			sum.Count += l.Count
		}
	}
	if total == 0 {
		return nil, nil
	}
	bounds := make([]float64, 0, len(fine))
	for b := range fine {
		bounds = append(bounds, b)
	}
	slices.Sort(bounds)
	var coarse []metric.Bucket
	var before int64
	for _, b := range bounds {
		n := fine[b]
		for _, q := range []struct {
			share float64
			to    *float64
		}{{0.5, &sum.P50}, {0.95, &sum.P95}, {0.99, &sum.P99}} {
			if rank := q.share * float64(total); float64(before) <= rank && rank < float64(before+n) {
				*q.to = math.Min(b, sum.Max)
			}
		}
		before += n
		bound := math.Exp2(math.Ceil(math.Log2(b*1000))) / 1000 // a power of two of µs
		if k := len(coarse); k > 0 && coarse[k-1].UpToMs == bound {
			coarse[k-1].Count += n
		} else {
			coarse = append(coarse, metric.Bucket{UpToMs: bound, Count: n})
		}
	}
	return coarse, &sum
}

// rows returns those of the present context, oldest first.
func (c *comparisons) rows(segmentBytes int) []Comparison {
	var list []Comparison
	for _, r := range c.contexts[c.context] {
		list = append(list, r.finish(segmentBytes, r == c.row))
	}
	for i := range list {
		if base := list[0].EmittedPerSecond; base > 0 && list[i].EmittedPerSecond > 0 {
			list[i].Gain = list[i].EmittedPerSecond / base
		}
	}
	return list
}

func (r *comparisonRow) finish(segmentBytes int, current bool) Comparison {
	c := Comparison{Knobs: r.knobs, Current: current, Seconds: float64(r.ms) / 1000, Latency: r.latency, LatencyBuckets: r.buckets,
		OutPoolUsageMax: r.usage, OverdraftMax: r.overdraft, MailboxLatencyMs: r.mail,
		AddCreditMessages: r.messages, AnnouncedCredits: r.credits, SentBuffers: r.sent, Overtaken: r.overtaken, Checkpoints: len(r.checkpoints)}
	if c.Seconds > 0 {
		c.EmittedPerSecond = float64(r.emitted) / c.Seconds
		c.RecordsPerSecond = float64(r.records) / c.Seconds
		c.BuffersPerSecond = float64(r.buffers) / c.Seconds
		for _, n := range r.bySubtask {
			c.SubtaskRecordsPerSecond = append(c.SubtaskRecordsPerSecond, float64(n)/c.Seconds)
		}
	}
	if r.filled > 0 {
		c.MeanBufferBytes = float64(r.bytes) / float64(r.filled)
	}
	if segmentBytes > 0 {
		c.MeanFill = c.MeanBufferBytes / float64(segmentBytes)
	}
	if r.looks > 0 {
		c.BackPressured, c.SoftPressed, c.HardPressed = r.pressed/r.looks, r.soft/r.looks, r.hard/r.looks
		c.BusiestMs, c.IdlestMs = r.busy/r.looks, r.idle/r.looks
	}
	c.CheckpointMs = medianOf(r.checkpoints, func(x metric.Checkpoint) float64 { return float64(x.EndToEndDurationMs) })
	c.PersistedBytes = medianOf(r.checkpoints, func(x metric.Checkpoint) float64 { return float64(x.PersistedBytes) })
	c.ProcessedBytes = medianOf(r.checkpoints, func(x metric.Checkpoint) float64 { return float64(x.ProcessedBytes) })
	c.StateBytes = medianOf(r.checkpoints, func(x metric.Checkpoint) float64 { return float64(x.StateBytes) })
	c.CheckpointedBytes = medianOf(r.checkpoints, func(x metric.Checkpoint) float64 { return float64(x.CheckpointedBytes) })
	c.KeyedBytes = r.keyed
	c.Phases = Phases{
		medianOf(r.phases, func(p Phases) float64 { return p.StartDelayMs }), medianOf(r.phases, func(p Phases) float64 { return p.AlignmentMs }),
		medianOf(r.phases, func(p Phases) float64 { return p.SyncMs }), medianOf(r.phases, func(p Phases) float64 { return p.AsyncMs })}
	return c
}

// medianOf is 0 without any.
func medianOf[T any](list []T, read func(T) float64) float64 {
	values := make([]float64, len(list))
	for i := range list {
		values[i] = read(list[i])
	}
	slices.Sort(values)
	if n := len(values); n > 0 {
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	return 0
}
