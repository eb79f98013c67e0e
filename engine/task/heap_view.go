package task

import (
	"errors"
	"sync/atomic"
	"time"

	"weir/engine/serde"
	"weir/engine/state/heap"
	"weir/engine/trace"
)

// mostViewed bounds the entries that a HeapView shows.
const mostViewed = 64

// HeapQuestion asks for the map of one state and key group. An empty State is the first, a KeyGroup below 0 the first of the
// subtask that has entries.
type HeapQuestion struct {
	State    string
	KeyGroup int
}

// HeapView is what the heap backend of an operator looks like inside, as one key group shows it.
type HeapView struct {
	heap.MapView
	States    []string `json:"states"` // that the operator has
	KeyGroups [2]int   `json:"keyGroups"`
	// Stopped says that the task waits at a breakpoint: this is what its map looked like there.
	Stopped bool `json:"stopped"`
}

// Why there is no view.
var (
	ErrNoHeap = errors.New("no keyed state on the heap: it needs the hashmap backend")
	ErrNoMap  = errors.New("no such map: the operator has no state of that name, or the key group is another subtask's")
	ErrNoView = errors.New("the task gives no answer: it has ended, or is busy with one record")
)

// heapViews is what is looked at, and what was seen last. The counters belong to the task's goroutine.
type heapViews struct {
	byReads, byWrites int64
	peak              int64 // of the old entries held

	question atomic.Pointer[HeapQuestion]
	askedNs  atomic.Int64
	seen     atomic.Pointer[HeapView]
}

// copied is called by the heap backend after each copy, on the task's goroutine.
func (k *KeyedState) copied(c heap.Copy) {
	kind := "write"
	if c.Value {
		kind = "read"
		k.view.byReads++
	} else {
		k.view.byWrites++
	}
	t := k.ctx.Tracer
	if !t.On(trace.EntryCopied) {
		return
	}
	// The task may be stopped here for as long as a learner looks: who asked lately is given the map as it is now.
	if q := k.view.question.Load(); q != nil && time.Now().UnixNano()-k.view.askedNs.Load() < int64(5*time.Second) {
		q := *q
		if q.KeyGroup < 0 {
			q.KeyGroup = c.KeyGroup
		}
		if v, ok := k.look(q); ok {
			k.view.seen.Store(v)
		}
	}
	t.Hit(trace.EntryCopied, k.ctx.Thread, trace.Str("state", c.State), trace.Str("key", serde.FormatKey(k.Context().KeyType(), c.Key)), trace.Int("group", c.KeyGroup),
		trace.Str("by", kind), trace.Int("entryVersion", int64(c.EntryVersion)), trace.Int("valueVersion", int64(c.ValueVersion)), trace.Int("mapVersion", int64(c.MapVersion)))
}

// look views the map that is asked for. Only the task's goroutine may call it.
func (k *KeyedState) look(q HeapQuestion) (*HeapView, bool) {
	if k.heap == nil {
		return nil, false
	}
	names := k.heap.StateNames()
	if q.State == "" && len(names) > 0 {
		q.State = names[0]
	}
	if q.KeyGroup < 0 {
		q.KeyGroup = k.ctx.KeyGroups.First
		for g := range k.ctx.KeyGroups.All() {
			if r, ok := k.heap.Readings(q.State, g); ok && r.Entries > 0 {
				q.KeyGroup = g
				break
			}
		}
	}
	v, ok := k.heap.Look(q.State, q.KeyGroup, mostViewed)
	return &HeapView{MapView: v, States: names, KeyGroups: [2]int{k.ctx.KeyGroups.First, k.ctx.KeyGroups.Last}}, ok
}

// ViewHeap looks into the heap backend of the task's first operator with keyed state, as mail, and waits for the answer at
// most so long. A task that stands at a breakpoint of entryCopied is seen as it is there. Any goroutine may call it.
func (t *Task) ViewHeap(q HeapQuestion, patience time.Duration) (*HeapView, error) {
	type answer struct {
		v   *HeapView
		err error
	}
	answered := make(chan answer, 1)
	k := t.firstKeyed.Load()
	if k == nil || k.heap == nil {
		return nil, ErrNoHeap
	}
	k.view.question.Store(&q)
	k.view.askedNs.Store(time.Now().UnixNano())
	if !t.Mailbox.Post(func() {
		if v, ok := k.look(q); ok {
			k.view.seen.Store(v)
			answered <- answer{v: v}
			return
		}
		answered <- answer{err: ErrNoMap}
	}) {
		return nil, ErrNoView
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.v, a.err
	case <-timer.C:
	}
	if v := k.view.seen.Load(); v != nil {
		stopped := *v
		stopped.Stopped = true
		return &stopped, nil
	}
	return nil, ErrNoView
}
