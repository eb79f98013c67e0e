package operator

import (
	"strconv"
	"strings"
	"time"
	"unsafe"

	"weir/engine/serde"
	"weir/engine/task"
)

// PreCount counts records by key in memory and sends on one record a key with the count so far, its payload being the
// count in decimal: the first of two stages, which makes few records of many. It takes salted keys and emits the keys
// themselves. It sends at the latest after bundleTime, and before a barrier and at the end of the input, so that it has
// no state of its own (the bundle operators of Flink's local-global aggregation do the same).
type PreCount struct {
	stateless
	t       serde.KeyType
	place   map[serde.Key]int
	bundle  []partial
	records int
	text    []byte
	record  serde.Record
	out     task.Output
}

// partial is the count of one key, and the stamp of the record that has waited longest.
type partial struct {
	key   serde.Key
	count int64
	stamp int64
	timed bool
}

const (
	bundleRecords = 5000
	bundleTime    = 100 * time.Millisecond
)

// NewPreCount makes the operator; t is the type of the keys without their salt.
func NewPreCount(t serde.KeyType) *PreCount {
	return &PreCount{t: t, place: map[serde.Key]int{}}
}

// Open keeps where to emit.
func (p *PreCount) Open(_ *task.Context, out task.Output) error {
	p.out = out
	return nil
}

// SettingsChanged does nothing.
func (p *PreCount) SettingsChanged() {}

// Process counts, and sends the bundle when it is full.
func (p *PreCount) Process(r *serde.Record) error {
	k, err := unsalt(p.t, r.Key.Str)
	if err != nil {
		return err
	}
	i, ok := p.place[k]
	if !ok {
		k.Str = strings.Clone(k.Str)
		i = len(p.bundle)
		p.place[k] = i
		p.bundle = append(p.bundle, partial{key: k, stamp: r.Timestamp, timed: r.HasTimestamp})
	}
	p.bundle[i].count++
	if p.records++; p.records >= bundleRecords {
		return p.flush()
	}
	return nil
}

// Interval implements task.Ticking.
func (p *PreCount) Interval() time.Duration { return bundleTime }

// Tick sends what there is.
func (p *PreCount) Tick() error { return p.flush() }

// PrepareSnapshotPreBarrier implements task.PreBarrier.
func (p *PreCount) PrepareSnapshotPreBarrier(int64) error { return p.flush() }

// Finish sends what there is.
func (p *PreCount) Finish() error { return p.flush() }

// flush sends the bundle, in the order in which its keys came. A failed one fails the task; nothing is sent twice.
func (p *PreCount) flush() error {
	for i := range p.bundle {
		b := &p.bundle[i]
		p.text = strconv.AppendInt(p.text[:0], b.count, 10)
		p.record = serde.Record{Key: b.key, Payload: unsafe.String(unsafe.SliceData(p.text), len(p.text)), Timestamp: b.stamp, HasTimestamp: b.timed}
		if err := p.out.Collect(&p.record); err != nil {
			return err
		}
	}
	clear(p.place)
	clear(p.bundle)
	p.bundle, p.records = p.bundle[:0], 0
	return nil
}
