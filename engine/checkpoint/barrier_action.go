package checkpoint

import (
	"fmt"

	"weir/engine/serde"
)

// ActionKind is what a barrier handler asks its task to do.
type ActionKind uint8

// The actions.
const (
	// Block: read no more from the channel. Its producer has stopped already, since it sent an aligned barrier.
	Block ActionKind = iota
	// Resume: tell the channel's producer to go on.
	Resume
	// Trigger: take the snapshot now, before any later action of the same answer, and send the barrier on.
	Trigger
	// Abort: decline the checkpoint to the coordinator, send a CancelCheckpointMarker on, and drop what was gathered for it.
	Abort
	// StartPersisting: keep what each channel's deserializer has not used up, and all data of each channel that comes before
	// that channel's barrier, queued or still to arrive.
	StartPersisting
	// StopPersisting: all channels have come to their barriers, or (if not Complete) the checkpoint is given up.
	StopPersisting
	// Prioritize: move the announced barrier Seq of the channel before the data that is queued there.
	Prioritize
)

var actionKinds = [...]string{"block", "resume", "trigger", "abort", "start persisting", "stop persisting", "prioritize"}

func (k ActionKind) String() string {
	if int(k) < len(actionKinds) {
		return actionKinds[k]
	}
	return fmt.Sprintf("ActionKind(%d)", uint8(k))
}

// Action is one thing that a barrier handler wants done.
type Action struct {
	Kind     ActionKind
	Channel  int                     // Block, Resume and Prioritize
	Seq      int32                   // Prioritize
	ID       int64                   // Trigger, Abort, StartPersisting and StopPersisting: the checkpoint
	Barrier  serde.CheckpointBarrier // Trigger and StartPersisting: what to send on
	Reason   Reason                  // Abort
	Complete bool                    // StopPersisting
	// What the history tells of the alignment, in ns and bytes: the first with Trigger, the others when all barriers are
	// there, which is with Trigger or with StopPersisting.
	StartDelayNs, AlignmentNs, BytesDuringAlignment int64
}
