package network

import (
	"weir/engine/memory"
	"weir/engine/serde"
)

// QueueModel is a real subpartition that is driven call by call, as an exercise drives a learner's: it implements
// SubpartitionCore.
type QueueModel struct {
	pool   *memory.LocalPool
	sub    *Subpartition
	view   *View
	told   bool
	ids    map[*memory.Segment]int
	events map[string]int
	newest *memory.Segment
}

// NewQueueModel makes an empty subpartition.
func NewQueueModel() (*QueueModel, error) {
	const segments = 512
	global := memory.NewGlobalPool(segments, 4<<10)
	pool, err := global.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 1, Subpartitions: 1, MaxBuffersPerSubpartition: segments})
	if err != nil {
		return nil, err
	}
	m := &QueueModel{pool: pool, sub: newSubpartition(0, 0), ids: map[*memory.Segment]int{}, events: map[string]int{}}
	m.view, err = m.sub.createView(m)
	return m, err
}

// DataAvailable implements AvailabilityListener.
func (m *QueueModel) DataAvailable() { m.told = true }

// PriorityAvailable implements AvailabilityListener.
func (m *QueueModel) PriorityAvailable(int32) { m.told = true }

func (m *QueueModel) notified() bool {
	told := m.told
	m.told = false
	return told
}

// Add implements SubpartitionCore. No more than some hundred data buffers can be queued at a time.
func (m *QueueModel) Add(id int, kind QueueKind) bool {
	if kind == DataKind {
		seg := m.pool.Request(0)
		if seg == nil {
			return false
		}
		m.ids[seg], m.newest = id, seg
		if _, err := m.sub.addSegment(seg); err != nil {
			return false
		}
		return m.notified()
	}
	// The number goes into the event, by which it is known again.
	event := serde.MarshalEvent(serde.CancelCheckpointMarker{CheckpointID: int64(id)})
	m.events[string(event)] = id
	if err := m.sub.addEvent(event, typeOfKind[kind], false); err != nil {
		return false
	}
	return m.notified()
}

// Written implements SubpartitionCore.
func (m *QueueModel) Written(bytes int, finished bool) {
	if m.newest == nil {
		return
	}
	if m.newest.Publish(bytes); finished {
		m.newest.Finish(bytes)
		m.newest.Release()
		m.newest = nil
	}
}

// Flush implements SubpartitionCore.
func (m *QueueModel) Flush() bool {
	m.sub.flush()
	return m.notified()
}

// Poll implements SubpartitionCore.
func (m *QueueModel) Poll() (q QueuePolled, ok bool) {
	p, ok, err := m.view.Next()
	if err != nil || !ok {
		return q, false
	}
	q.Backlog = p.Backlog
	if p.Next != serde.None {
		q.Next = kindOf(p.Next)
	}
	if p.Seg == nil {
		q.ID, q.Gone = m.events[string(p.Bytes)], true
		return q, true
	}
	q.ID, q.Bytes = m.ids[p.Seg], len(p.Bytes)
	q.Gone = m.sub.queue.len() == 0 || m.sub.queue.front().seg != p.Seg
	p.Recycle()
	return q, true
}

// Resume implements SubpartitionCore.
func (m *QueueModel) Resume() { m.view.Resume() }

// Available implements SubpartitionCore.
func (m *QueueModel) Available(credit bool) bool {
	ready, _ := m.view.Availability(credit)
	return ready
}

// Backlog implements SubpartitionCore.
func (m *QueueModel) Backlog() int {
	_, backlog := m.view.Availability(true)
	return backlog
}
