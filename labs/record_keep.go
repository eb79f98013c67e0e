package labs

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"weir/engine/metric"
)

// Bounds of a record. They hold when it is kept and when it is read, so that a file stays under 2 MB whatever the job.
const (
	recordSamples     = 600 // ten minutes of one a second
	recordChanges     = 2000
	recordMarks       = 2000
	recordCheckpoints = 400
	recordText        = 500       // bytes of a mark's text
	sampleBytes       = 40 << 10  // of one sample as JSON; a larger one loses its channels, then its pools
	sampleCounts      = 16        // keys of which a sample keeps the counts
	keptBytes         = 1500_000  // of all samples compressed
	chunkSamples      = 30        // compressed together
	checkpointParts   = 64        // subtasks and shared files of one checkpoint
	checkpointBytes   = 400_000   // of all checkpoints as JSON, about
	maxRecordFile     = 2_000_000 // bytes of a record file
)

// recorder keeps the record of a run in little memory: samples are compressed, thirty together. It is guarded by Run.mu.
type recorder struct {
	head  Record // without changes, checkpoints and samples
	marks []Mark

	checkpoints []metric.Checkpoint
	weights     []int // bytes of each
	weight      int

	chunks    []chunk
	open      []json.RawMessage
	restarts  int // of the newest sample
	forgotten int
}

// chunk are samples, comma separated JSON, compressed.
type chunk struct {
	packed []byte
	n      int
}

// sample takes a snapshot into the record. It does not change it.
func (k *recorder) sample(s *metric.Snapshot) {
	k.takeCheckpoints(s.Checkpoints)
	if s.Restarts > k.restarts {
		k.mark(Mark{s.TimeMs, MarkRestart, "", s.Failure})
	}
	k.restarts = s.Restarts
	b, err := json.Marshal(thin(s))
	for _, smaller := range []func(*metric.Snapshot){
		func(t *metric.Snapshot) { t.Channels = nil },
		func(t *metric.Snapshot) { t.Pools, t.Gates = nil, nil },
		func(t *metric.Snapshot) { t.Vertices = nil },
	} {
		if err == nil && len(b) <= sampleBytes {
			break
		}
		t := thin(s)
		smaller(t)
		s = t
		b, err = json.Marshal(t)
	}
	if err != nil {
		return // a reading that JSON does not have, such as an infinite one: the second is missing
	}
	k.open = append(k.open, b)
	if len(k.open) == chunkSamples {
		k.close()
	}
}

// close compresses the open samples, and drops the oldest ones beyond the bounds.
func (k *recorder) close() {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return // the level is one that there is
	}
	_, _ = w.Write(bytes.Join(rawBytes(k.open), []byte(",")))
	_ = w.Close()
	k.chunks = append(k.chunks, chunk{packed.Bytes(), len(k.open)})
	k.open = nil
	size := 0
	for i := len(k.chunks) - 1; i >= 0; i-- {
		size += len(k.chunks[i].packed)
		if size > keptBytes || (len(k.chunks)-i)*chunkSamples > recordSamples {
			k.chunks = slices.Clone(k.chunks[i+1:])
			return
		}
	}
}

func rawBytes(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// thin copies what a sample keeps of a snapshot.
func thin(s *metric.Snapshot) *metric.Snapshot {
	t := *s
	t.Lab, t.Knobs, t.Diagnosis, t.Checkpoints = "", nil, nil, nil
	if len(t.Totals.CountsByKey) > sampleCounts {
		t.Totals.CountsByKey = nil
	}
	t.Vertices = slices.Clone(s.Vertices)
	for i := range t.Vertices {
		v := &t.Vertices[i]
		v.Role, v.BackpressureLevel = "", ""
		v.Subtasks = slices.Clone(v.Subtasks)
		for n := range v.Subtasks {
			v.Subtasks[n].LatencyBuckets = nil
		}
	}
	t.Channels = slices.Clone(s.Channels)
	for i := range t.Channels {
		c := &t.Channels[i]
		c.Producer.Fill = nil
		if c.Consumer != nil {
			end := *c.Consumer
			end.Fill = nil
			c.Consumer = &end
		}
	}
	return &t
}

// takeCheckpoints keeps each as it was seen last.
func (k *recorder) takeCheckpoints(newestFirst []metric.Checkpoint) {
	for _, c := range slices.Backward(newestFirst) {
		// The folder is a matter of this machine.
		c.Path = ""
		if len(c.Subtasks) > checkpointParts {
			c.Subtasks = nil
		}
		if len(c.SharedFiles) > checkpointParts {
			c.SharedFiles = nil
		}
		c.Failure = cut(c.Failure)
		at := slices.IndexFunc(k.checkpoints, func(x metric.Checkpoint) bool { return x.ID == c.ID && x.TriggerMs == c.TriggerMs })
		if at >= 0 && k.checkpoints[at].Status != "IN_PROGRESS" {
			continue
		}
		weight := 300 + 300*len(c.Subtasks) + 200*len(c.SharedFiles) + len(c.Failure)
		if at >= 0 {
			k.weight += weight - k.weights[at]
			k.checkpoints[at], k.weights[at] = c, weight
			continue
		}
		k.checkpoints, k.weights = append(k.checkpoints, c), append(k.weights, weight)
		k.weight += weight
		for len(k.checkpoints) > recordCheckpoints || k.weight > checkpointBytes && len(k.checkpoints) > 1 {
			k.weight -= k.weights[0]
			k.checkpoints, k.weights = k.checkpoints[1:], k.weights[1:]
		}
	}
}

// cut shortens a text to what a mark may hold.
func cut(s string) string {
	if len(s) <= recordText {
		return s
	}
	s = s[:recordText]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

func (k *recorder) mark(m Mark) {
	m.Name, m.Text = cut(m.Name), cut(m.Text)
	k.marks = append(k.marks, m)
	if len(k.marks) > recordMarks {
		k.marks = slices.Clone(k.marks[len(k.marks)-recordMarks:])
		k.forgotten++
	}
}

// mark notes what happened now. r.mu is held.
func (r *Run) mark(kind, name, text string) {
	r.record.mark(Mark{r.job.Snapshot().TimeMs + r.offsetMs, kind, name, text})
}

// Record returns what the run did so far.
func (r *Run) Record() *Record {
	r.mu.Lock()
	r.record.takeCheckpoints(r.snapshotLocked().Checkpoints)
	k := &r.record
	rec := k.head
	rec.Knobs = Values(k.head.Knobs).Clone()
	rec.Changes, rec.Marks = slices.Clone(r.changes), slices.Clone(k.marks)
	rec.Checkpoints, rec.Forgotten = slices.Clone(k.checkpoints), k.forgotten
	chunks, open := slices.Clone(k.chunks), slices.Clone(k.open)
	r.mu.Unlock()
	if n := len(rec.Changes); n > recordChanges {
		rec.Forgotten += n - recordChanges
		rec.Changes = rec.Changes[n-recordChanges:]
	}
	for _, c := range chunks {
		rec.Samples = append(rec.Samples, c.unpack()...)
	}
	for _, b := range open {
		s := &metric.Snapshot{}
		if json.Unmarshal(b, s) == nil {
			rec.Samples = append(rec.Samples, s)
		}
	}
	if n := len(rec.Samples); n > recordSamples {
		rec.Samples = rec.Samples[n-recordSamples:]
	}
	return &rec
}

func (c chunk) unpack() []*metric.Snapshot {
	b, err := io.ReadAll(io.MultiReader(bytes.NewReader([]byte("[")), flate.NewReader(bytes.NewReader(c.packed)), bytes.NewReader([]byte("]"))))
	if err != nil {
		return nil // what close packed can be unpacked
	}
	list := make([]*metric.Snapshot, 0, c.n)
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	return list
}
