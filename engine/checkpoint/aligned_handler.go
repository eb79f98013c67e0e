package checkpoint

import (
	"fmt"
	"strings"
	"time"

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
	// Abort: decline the checkpoint to the coordinator and send a CancelCheckpointMarker on.
	Abort
)

func (k ActionKind) String() string {
	switch k {
	case Block:
		return "block"
	case Resume:
		return "resume"
	case Trigger:
		return "trigger"
	case Abort:
		return "abort"
	}
	return fmt.Sprintf("ActionKind(%d)", uint8(k))
}

// Action is one thing that a barrier handler wants done.
type Action struct {
	Kind    ActionKind
	Channel int                     // Block and Resume
	ID      int64                   // Trigger and Abort: the checkpoint
	Barrier serde.CheckpointBarrier // Trigger: what to send on
	Reason  Reason                  // Abort
	// With Trigger: what the history tells of the alignment, in ns and bytes.
	StartDelayNs, AlignmentNs, BytesDuringAlignment int64
}

const none = -1

// AlignedHandler lets one task take a checkpoint when the barrier has come on every channel that is still open; until
// then the channels that have brought it are blocked. It follows one checkpoint at a time. It is the aligned form of
// Flink's SingleCheckpointBarrierHandler.
//
// Ended channels count: one that ends while a checkpoint is pending stands for its barrier, and later ones do not wait
// for it. Without that a barrier racing the end of a source would block the task for ever.
//
// It is a plain value for one goroutine. The slices it answers are valid until its next call.
type AlignedHandler struct {
	current      int64 // newest checkpoint seen, or none
	last         int64 // newest one aborted or completed
	barrier      serde.CheckpointBarrier
	channels     []channelAlignment
	aligned      int // channels with barrier or end for the pending checkpoint
	target       int // how many it takes
	open         int
	startDelayNs int64
	alignFrom    time.Time
	aligning     bool
	bytesInAlign int64
	actions      []Action
}

type channelAlignment struct{ aligned, blocked, ended bool }

// NewAlignedHandler returns a handler for a task with this many channels over all its gates.
func NewAlignedHandler(channels int) *AlignedHandler {
	return &AlignedHandler{current: none, last: none, channels: make([]channelAlignment, max(channels, 0)), open: max(channels, 0)}
}

// Pending tells which checkpoint the task is aligning for.
func (h *AlignedHandler) Pending() (id int64, ok bool) {
	return h.current, h.pending()
}

// Latest is the newest checkpoint id that the handler has seen, by barrier or by cancellation, or -1.
func (h *AlignedHandler) Latest() int64 { return h.current }

// Blocked tells whether a channel waits for the others.
func (h *AlignedHandler) Blocked(channel int) bool {
	return channel >= 0 && channel < len(h.channels) && h.channels[channel].blocked
}

func (h *AlignedHandler) pending() bool { return h.current != h.last && h.current >= 0 }

// Barrier takes a barrier read from a channel. A barrier of a checkpoint that is over only resumes the channel. A
// channel out of range changes nothing.
func (h *AlignedHandler) Barrier(channel int, b serde.CheckpointBarrier, now time.Time) []Action {
	h.actions = h.actions[:0]
	if channel < 0 || channel >= len(h.channels) {
		return nil
	}
	if h.current > b.ID || h.current == b.ID && !h.pending() {
		h.add(Action{Kind: Resume, Channel: channel})
		return h.actions
	}
	h.begin(b)
	c := &h.channels[channel]
	if !c.blocked {
		c.blocked = true
		h.add(Action{Kind: Block, Channel: channel})
	}
	h.arrive(c, now)
	return h.actions
}

// Cancel takes a cancellation marker read from a channel. A late one, of a checkpoint older than what is known, changes
// nothing.
func (h *AlignedHandler) Cancel(channel int, id int64, now time.Time) []Action {
	h.actions = h.actions[:0]
	if id > h.current || id == h.current && h.aligned > 0 {
		h.abort(id, OnCancellationBarrier)
	}
	return h.actions
}

// EndOfPartition takes the end of a channel.
func (h *AlignedHandler) EndOfPartition(channel int, now time.Time) []Action {
	h.actions = h.actions[:0]
	if channel < 0 || channel >= len(h.channels) || h.channels[channel].ended {
		return nil
	}
	c := &h.channels[channel]
	c.ended = true
	// An ended channel has no producer to resume.
	c.blocked = false
	h.open--
	if h.pending() {
		h.arrive(c, now)
	}
	return h.actions
}

// Processed counts bytes of records that the task has read, for BytesDuringAlignment.
func (h *AlignedHandler) Processed(bytes int) {
	if h.aligning {
		h.bytesInAlign += int64(bytes)
	}
}

// begin makes b's checkpoint the pending one, if it is newer.
func (h *AlignedHandler) begin(b serde.CheckpointBarrier) {
	if h.current >= b.ID {
		return
	}
	if h.pending() {
		h.abort(h.current, BySubsumption)
	}
	h.current = b.ID
	h.barrier = b
	h.clearAligned()
	h.target = h.open
}

// arrive notes that a channel has brought all that comes before the checkpoint.
func (h *AlignedHandler) arrive(c *channelAlignment, now time.Time) {
	if !c.aligned {
		c.aligned = true
		h.aligned++
		if h.aligned == 1 {
			// Flink measures the delay in whole ms of the wall clock, since it spans machines.
			h.startDelayNs = max(0, now.UnixMilli()-h.barrier.Timestamp) * int64(time.Millisecond)
			h.alignFrom, h.aligning, h.bytesInAlign = now, true, 0
		}
	}
	if h.aligned < h.target {
		return
	}
	a := Action{Kind: Trigger, ID: h.current, Barrier: h.barrier, StartDelayNs: h.startDelayNs}
	// A single channel has nothing to wait for.
	if h.target > 1 {
		a.AlignmentNs, a.BytesDuringAlignment = int64(now.Sub(h.alignFrom)), h.bytesInAlign
	}
	h.add(a)
	h.last = h.current
	h.release()
}

func (h *AlignedHandler) abort(id int64, why Reason) {
	h.current = max(h.current, id)
	h.last = max(h.last, id)
	h.release()
	h.add(Action{Kind: Abort, ID: id, Reason: why})
}

// release ends an alignment and opens all channels.
func (h *AlignedHandler) release() {
	h.aligning = false
	h.clearAligned()
	for i := range h.channels {
		if c := &h.channels[i]; c.blocked {
			c.blocked = false
			h.add(Action{Kind: Resume, Channel: i})
		}
	}
}

func (h *AlignedHandler) clearAligned() {
	h.aligned, h.target = 0, 0
	for i := range h.channels {
		h.channels[i].aligned = false
	}
}

func (h *AlignedHandler) add(a Action) { h.actions = append(h.actions, a) }

// String is one line of what the handler knows.
func (h *AlignedHandler) String() string {
	var b strings.Builder
	if id, ok := h.Pending(); ok {
		fmt.Fprintf(&b, "pending %d, aligned %d of %d", id, h.aligned, h.target)
	} else {
		b.WriteString("nothing pending")
	}
	b.WriteString(", blocked {")
	sep := ""
	for i, c := range h.channels {
		if c.blocked {
			fmt.Fprintf(&b, "%s%d", sep, i)
			sep = ","
		}
	}
	fmt.Fprintf(&b, "}, open %d", h.open)
	return b.String()
}
