package network

import (
	"fmt"
	"sync"

	"weir/engine/memory"
	"weir/engine/serde"
)

// ResultPartition is what one subtask produces: a subpartition for each consumer, fed from one local pool (Flink's
// PipelinedResultPartition).
type ResultPartition struct {
	ID   PartitionID
	pool *memory.LocalPool
	subs []*Subpartition
}

// NewResultPartition makes a partition of n subpartitions. startBufferSize cuts its first buffers; 0 does not.
func NewResultPartition(id PartitionID, n int, pool *memory.LocalPool, startBufferSize int) *ResultPartition {
	p := &ResultPartition{ID: id, pool: pool, subs: make([]*Subpartition, n)}
	for i := range p.subs {
		p.subs[i] = newSubpartition(i, startBufferSize)
	}
	return p
}

// Pool is the pool that the partition's buffers come from.
func (p *ResultPartition) Pool() *memory.LocalPool { return p.pool }

// Subpartitions is their number.
func (p *ResultPartition) Subpartitions() int { return len(p.subs) }

// Stats reads one subpartition.
func (p *ResultPartition) Stats(sub int) SubpartitionStats { return p.subs[sub].stats() }

// Sent is the number of data buffers that left the subpartitions, and the bytes in them. A buffer that was flushed while
// it was being written counts for each of its pieces, as the receiver counts them.
func (p *ResultPartition) Sent() (buffers, bytes int64) {
	for _, s := range p.subs {
		s.mu.Lock()
		buffers += s.sentBuffers
		bytes += s.sentBytes
		s.mu.Unlock()
	}
	return buffers, bytes
}

// FlushAll makes everything written so far readable. Any goroutine may call it; the output flusher does.
func (p *ResultPartition) FlushAll() {
	for _, s := range p.subs {
		s.flush()
	}
}

// Release drops all that is queued and destroys the pool. Readers find the partition released.
func (p *ResultPartition) Release() {
	for _, s := range p.subs {
		s.release()
	}
	p.pool.Destroy()
}

// PartitionManager finds the result partitions of one task manager (Flink's ResultPartitionManager).
type PartitionManager struct {
	mu         sync.Mutex
	partitions map[PartitionID]*ResultPartition
}

// NewPartitionManager makes an empty one.
func NewPartitionManager() *PartitionManager {
	return &PartitionManager{partitions: map[PartitionID]*ResultPartition{}}
}

// Register makes a partition available to its consumers.
func (m *PartitionManager) Register(p *ResultPartition) {
	m.mu.Lock()
	m.partitions[p.ID] = p
	m.mu.Unlock()
}

// Unregister forgets a partition.
func (m *PartitionManager) Unregister(id PartitionID) {
	m.mu.Lock()
	delete(m.partitions, id)
	m.mu.Unlock()
}

// CreateView gives one subpartition its reader. For a partition that is not there the error wraps ErrPartitionNotFound.
func (m *PartitionManager) CreateView(id PartitionID, subpartition int, l AvailabilityListener) (*View, error) {
	m.mu.Lock()
	p := m.partitions[id]
	m.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("%w: %s of subtask %d (attempt %d)", ErrPartitionNotFound, id.Vertex, id.Subtask, id.Attempt)
	}
	if subpartition < 0 || subpartition >= len(p.subs) {
		return nil, fmt.Errorf("network: partition %s has subpartitions 0 to %d, not %d", id.Vertex, len(p.subs)-1, subpartition)
	}
	return p.subs[subpartition].createView(l)
}

// AddEvent queues one event in one subpartition; the writer's open buffer must have been finished before.
func (p *ResultPartition) addEvent(sub int, e serde.Event, priority, finish bool) error {
	return p.subs[sub].addEvent(serde.MarshalEvent(e), serde.EventDataType(e, priority), finish)
}
