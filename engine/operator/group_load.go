package operator

import (
	"sync"
	"sync/atomic"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/task"
)

// GroupLoads are the records and bytes that each key group of a vertex received, counted by a GroupLoad at the head of
// each subtask's chain. All methods may be called from any goroutine.
type GroupLoads struct {
	schema serde.Schema

	mu       sync.Mutex
	groups   int
	subtasks map[int]*GroupLoad
}

// GroupCount is what one key group received since the job's last start.
type GroupCount struct {
	Group   int   `json:"group"`
	Subtask int   `json:"subtask"`
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"` // on the wire, lengths and tags included
}

// NewGroupLoads makes the counts of a vertex whose input has that schema.
func NewGroupLoads(s serde.Schema) *GroupLoads {
	return &GroupLoads{schema: s, subtasks: map[int]*GroupLoad{}}
}

// New makes the operator of one subtask.
func (l *GroupLoads) New() task.Operator { return &GroupLoad{all: l} }

// Counts returns the groups that received anything, in their order, and how many groups there are.
func (l *GroupLoads) Counts() (counts []GroupCount, groups int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for sub := range len(l.subtasks) {
		o := l.subtasks[sub]
		if o == nil {
			continue
		}
		for i := range o.counts {
			if n := o.counts[i].records.Load(); n > 0 {
				counts = append(counts, GroupCount{o.first + i, sub, n, o.counts[i].bytes.Load()})
			}
		}
	}
	return counts, l.groups
}

// GroupLoad counts what its subtask receives, by key group, and passes it on.
type GroupLoad struct {
	stateless
	all     *GroupLoads
	first   int
	groups  int
	counts  []groupCounter
	scratch []byte
	out     task.Output
}

// groupCounter is written by the task only.
type groupCounter struct{ records, bytes atomic.Int64 }

// Open makes room for the subtask's groups.
func (o *GroupLoad) Open(ctx *task.Context, out task.Output) error {
	o.out, o.groups, o.first = out, ctx.MaxParallelism, ctx.KeyGroups.First
	o.counts = make([]groupCounter, ctx.KeyGroups.Size())
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	o.all.groups = ctx.MaxParallelism
	o.all.subtasks[ctx.Index] = o
	return nil
}

// SettingsChanged does nothing.
func (o *GroupLoad) SettingsChanged() {}

// Process counts a record.
func (o *GroupLoad) Process(r *serde.Record) error {
	group := keygroup.Assign(serde.HashKey(o.all.schema.Key, r.Key), o.groups)
	if i := group - o.first; i >= 0 && i < len(o.counts) {
		o.scratch = serde.AppendRecord(o.scratch[:0], o.all.schema, r)
		c := &o.counts[i]
		c.records.Store(c.records.Load() + 1)
		c.bytes.Store(c.bytes.Load() + int64(len(o.scratch)))
	}
	return o.out.Collect(r)
}
