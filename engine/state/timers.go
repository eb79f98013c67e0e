package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/engine/serde"
)

// Timer is what fires: a time in ms, a key, and a window if the timers have windows.
type Timer struct {
	Time   int64
	Key    serde.Key
	Window Window
}

// Timers fire in the order of their times but are stored by key group, so that a rescale deals them with the keys that
// they belong to: a priority queue per key group, and one of the groups by their first timer (Flink's
// KeyGroupPartitionedPriorityQueue of HeapPriorityQueueSets). A timer that is registered twice fires once.
//
// They lie on the heap in every backend and belong to the task's goroutine.
type Timers struct {
	name   string
	ns     NamespaceKind
	ctx    *KeyContext
	groups []timerGroup
	// order is a heap of the groups that have timers, by the first of each.
	order []int32
	seq   uint64
	count int64
	bytes int64
}

type timerGroup struct {
	queue []*queuedTimer
	place map[Timer]*queuedTimer
	at    int32 // in order, -1 if it has no timers
}

type queuedTimer struct {
	Timer
	hash int32
	seq  uint64 // of its registration: it decides between equal times
	at   int    // in its queue; the only field that changes
}

func newTimers(ctx *KeyContext, name string, ns NamespaceKind) *Timers {
	t := &Timers{name: name, ns: ns, ctx: ctx, groups: make([]timerGroup, ctx.groups.Size())}
	for i := range t.groups {
		t.groups[i].at = -1
	}
	return t
}

func (t *Timers) fail(err error) error { return fmt.Errorf("timers %q: %w", t.name, err) }

func (t *Timers) timer(time int64, w Window) Timer {
	if t.ns == NoNamespace {
		w = Window{}
	}
	return Timer{time, t.ctx.key, w}
}

// Register makes a timer of the current key; false if it is there already.
func (t *Timers) Register(time int64, w Window) (bool, error) {
	if err := t.ctx.Check(); err != nil {
		return false, t.fail(err)
	}
	return t.add(int(t.ctx.group)-t.ctx.groups.First, t.timer(time, w), t.ctx.hash), nil
}

// Delete removes a timer of the current key; false if there is none.
func (t *Timers) Delete(time int64, w Window) (bool, error) {
	if err := t.ctx.Check(); err != nil {
		return false, t.fail(err)
	}
	group := int(t.ctx.group) - t.ctx.groups.First
	q, ok := t.groups[group].place[t.timer(time, w)]
	if ok {
		t.remove(group, q)
	}
	return ok, nil
}

// Next is the time of the first timer; false if there is none.
func (t *Timers) Next() (int64, bool) {
	if len(t.order) == 0 {
		return 0, false
	}
	return t.groups[t.order[0]].queue[0].Time, true
}

// Fire takes out each timer up to the time, in order, makes its key the current one and calls f, until f fails. f may
// register and delete timers; those that are due fire too.
func (t *Timers) Fire(upTo int64, f func(Timer) error) error {
	defer t.ctx.Clear()
	for {
		next, ok := t.Next()
		if !ok || next > upTo {
			return nil
		}
		group := int(t.order[0])
		q := t.groups[group].queue[0]
		t.remove(group, q)
		t.ctx.fired++
		if err := t.ctx.Set(q.Key, q.hash); err != nil {
			return t.fail(err)
		}
		if err := f(q.Timer); err != nil {
			return err
		}
	}
}

// Len is the number of timers.
func (t *Timers) Len() int64 { return t.count }

// EachOf goes through the timers of one key group, in no order.
func (t *Timers) EachOf(group int, f func(Timer) bool) {
	if !t.ctx.groups.Contains(group) {
		return
	}
	for _, q := range t.groups[group-t.ctx.groups.First].queue {
		if !f(q.Timer) {
			return
		}
	}
}

func (t *Timers) size(k serde.Key) int64 {
	n := int64(KeyBytes(t.ctx.keyType, k)) + 8
	if t.ns == WindowNamespace {
		n += 16
	}
	return n
}

func (t *Timers) add(group int, timer Timer, hash int32) bool {
	g := &t.groups[group]
	if _, ok := g.place[timer]; ok {
		return false
	}
	timer.Key.Str = strings.Clone(timer.Key.Str)
	t.seq++
	q := &queuedTimer{Timer: timer, hash: hash, seq: t.seq, at: len(g.queue)}
	if g.place == nil {
		g.place = map[Timer]*queuedTimer{}
	}
	g.place[timer] = q
	g.queue = append(g.queue, q)
	g.up(q.at)
	t.count++
	t.bytes += t.size(timer.Key)
	t.reorder(group)
	return true
}

func (t *Timers) remove(group int, q *queuedTimer) {
	g := &t.groups[group]
	delete(g.place, q.Timer)
	last := len(g.queue) - 1
	i := q.at
	if i != last {
		g.set(i, g.queue[last])
	}
	g.queue[last] = nil
	g.queue = g.queue[:last]
	if i < last {
		g.down(i)
		g.up(i)
	}
	t.count--
	t.bytes -= t.size(q.Key)
	t.reorder(group)
}

func before(a, b *queuedTimer) bool {
	return a.Time < b.Time || a.Time == b.Time && a.seq < b.seq
}

func (g *timerGroup) set(i int, q *queuedTimer) { g.queue[i], q.at = q, i }

func (g *timerGroup) up(i int) {
	q := g.queue[i]
	for i > 0 {
		p := (i - 1) / 2
		if !before(q, g.queue[p]) {
			break
		}
		g.set(i, g.queue[p])
		i = p
	}
	g.set(i, q)
}

func (g *timerGroup) down(i int) {
	q := g.queue[i]
	for {
		c := 2*i + 1
		if c >= len(g.queue) {
			break
		}
		if c+1 < len(g.queue) && before(g.queue[c+1], g.queue[c]) {
			c++
		}
		if !before(g.queue[c], q) {
			break
		}
		g.set(i, g.queue[c])
		i = c
	}
	g.set(i, q)
}

// reorder puts a group whose first timer may have changed where it belongs among the groups.
func (t *Timers) reorder(group int) {
	g := &t.groups[group]
	switch {
	case len(g.queue) == 0 && g.at >= 0:
		i, last := int(g.at), len(t.order)-1
		g.at = -1
		if i != last {
			t.setOrder(i, t.order[last])
		}
		t.order = t.order[:last]
		if i < last {
			t.sift(i)
		}
	case len(g.queue) > 0:
		if g.at < 0 {
			g.at = int32(len(t.order))
			t.order = append(t.order, int32(group))
		}
		t.sift(int(g.at))
	}
}

func (t *Timers) setOrder(i int, group int32) { t.order[i], t.groups[group].at = group, int32(i) }

func (t *Timers) sift(i int) {
	group := t.order[i]
	first := t.groups[group].queue[0]
	head := func(i int) *queuedTimer { return t.groups[t.order[i]].queue[0] }
	for i > 0 && before(first, head((i-1)/2)) {
		t.setOrder(i, t.order[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		c := 2*i + 1
		if c >= len(t.order) {
			break
		}
		if c+1 < len(t.order) && before(head(c+1), head(c)) {
			c++
		}
		if !before(head(c), first) {
			break
		}
		t.setOrder(i, t.order[c])
		i = c
	}
	t.setOrder(i, group)
}

// TimerSet is all timers of a backend: what a backend embeds.
type TimerSet struct {
	ctx    *KeyContext
	byName map[string]*Timers
}

// NewTimerSet makes an empty one.
func NewTimerSet(ctx *KeyContext) *TimerSet { return &TimerSet{ctx, map[string]*Timers{}} }

// Open makes the timers of a name, or finds those made or restored.
func (s *TimerSet) Open(name string, ns NamespaceKind) (*Timers, error) {
	m := timersMeta(name, ns)
	if name == "" {
		return nil, errors.New("timers need a name")
	}
	if ns >= numNamespaces {
		return nil, fmt.Errorf("timers %q: namespace kind %d, must be 0 (none) or 1 (window)", name, ns)
	}
	t := s.byName[name]
	if t == nil {
		t = newTimers(s.ctx, name, ns)
		s.byName[name] = t
	}
	return t, CheckCompatible(timersMeta(name, t.ns), m)
}

func timersMeta(name string, ns NamespaceKind) Meta {
	return Meta{Name: name, Kind: KindTimers, Namespace: ns, Codec: "timer", FixedValue: 8}
}

// Restore takes a timer of the canonical format; hash is that of its key, which lies in the backend's key groups.
func (s *TimerSet) Restore(r *CanonicalReader, group int, hash int32) error {
	if err := CheckCompatible(r.Meta, timersMeta(r.Meta.Name, r.Meta.Namespace)); err != nil {
		return err
	}
	t, err := s.Open(r.Meta.Name, r.Meta.Namespace)
	if err != nil {
		return err
	}
	timer := Timer{int64(binary.BigEndian.Uint64(r.Value)), r.Key, r.Namespace}
	if !t.add(group-s.ctx.groups.First, timer, hash) {
		return fmt.Errorf("timers %q: key %s at %d stands there twice", t.name, serde.FormatKey(s.ctx.keyType, r.Key), timer.Time)
	}
	return nil
}

// Stats are the figures of all timers, by name.
func (s *TimerSet) Stats() []StateStats {
	var out []StateStats
	for _, name := range s.names() {
		t := s.byName[name]
		out = append(out, StateStats{Name: name, Kind: KindTimers, Keys: t.count, Entries: t.count, Bytes: t.bytes})
	}
	return out
}

func (s *TimerSet) names() []string { return slices.Sorted(maps.Keys(s.byName)) }

// TimerSnapshot is the timers of a backend as they were.
type TimerSnapshot struct {
	first int
	metas []Meta
	queue [][][]*queuedTimer // by name, by key group
}

// Snapshot copies the queues, pointers only.
func (s *TimerSet) Snapshot() *TimerSnapshot {
	snap := &TimerSnapshot{first: s.ctx.groups.First}
	for _, name := range s.names() {
		t := s.byName[name]
		all := make([]*queuedTimer, 0, t.count)
		groups := make([][]*queuedTimer, len(t.groups))
		for i, g := range t.groups {
			from := len(all)
			all = append(all, g.queue...)
			groups[i] = all[from:len(all):len(all)]
		}
		snap.metas, snap.queue = append(snap.metas, timersMeta(name, t.ns)), append(snap.queue, groups)
	}
	return snap
}

// Has tells whether there are timers of the key group.
func (s *TimerSnapshot) Has(group int) bool {
	for _, q := range s.queue {
		if len(q[group-s.first]) > 0 {
			return true
		}
	}
	return false
}

// WriteGroup writes the timers of a key group, which the writer has begun.
func (s *TimerSnapshot) WriteGroup(w *CanonicalWriter, group int) error {
	for i, m := range s.metas {
		q := s.queue[i][group-s.first]
		if len(q) == 0 {
			continue
		}
		w.State(m, int64(len(q)))
		for _, t := range q {
			if err := w.End(binary.BigEndian.AppendUint64(w.Begin(t.Key, t.Window), uint64(t.Time))); err != nil {
				return err
			}
		}
	}
	return nil
}
