package network

import (
	"errors"
	"fmt"

	"weir/engine/serde"
)

// ErrSubsumed is what asking a channel for the data in flight of a checkpoint gives, when the channel has had a newer
// barrier already.
var ErrSubsumed = errors.New("subsumed by a newer checkpoint")

// persister keeps the data of one input channel that comes before its barrier, once a checkpoint has begun (Flink's
// ChannelStatePersister). The channel guards it.
type persister struct {
	status   persisterStatus
	lastSeen int64 // the checkpoint that status is of
	store    func(data []byte)
}

type persisterStatus uint8

const (
	persistCompleted persisterStatus = iota // nothing is kept
	barrierPending                          // all data is kept
	barrierReceived                         // the channel's barrier has come, by itself or before the checkpoint began
)

func newPersister() persister { return persister{lastSeen: noBarrier} }

// start begins to keep data for a checkpoint; the caller stores what is queued already. store copies what it is given.
func (p *persister) start(checkpoint int64, store func(data []byte)) error {
	if p.status == barrierReceived && p.lastSeen > checkpoint {
		return fmt.Errorf("network: checkpoint %d: %w, %d", checkpoint, ErrSubsumed, p.lastSeen)
	}
	p.store = store
	if p.lastSeen < checkpoint {
		p.status, p.lastSeen = barrierPending, checkpoint
	}
	return nil
}

// stop ends the keeping for a checkpoint, unless a newer one has begun.
func (p *persister) stop(checkpoint int64) {
	if checkpoint >= p.lastSeen {
		p.status, p.lastSeen, p.store = persistCompleted, checkpoint, nil
	}
}

// barrier takes a barrier that came in the channel, ahead of the task. It tells if it is one that counts: those of older
// checkpoints end nothing.
func (p *persister) barrier(checkpoint int64) bool {
	expected := p.lastSeen
	if p.status == persistCompleted {
		expected++
	}
	if checkpoint < expected {
		return false
	}
	p.status, p.lastSeen = barrierReceived, checkpoint
	return true
}

// data takes data that came in the channel.
func (p *persister) data(b []byte) {
	if p.status == barrierPending && p.store != nil {
		p.store(b)
	}
}

// barrierIn is the barrier in an event, if it is one.
func barrierIn(b *Buffer) (serde.CheckpointBarrier, bool) {
	if !b.Type.HasPriority() && !b.Type.BlocksUpstream() {
		return serde.CheckpointBarrier{}, false
	}
	e, err := serde.UnmarshalEvent(b.Bytes)
	if err != nil {
		return serde.CheckpointBarrier{}, false
	}
	barrier, ok := e.(serde.CheckpointBarrier)
	return barrier, ok
}
