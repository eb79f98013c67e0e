package checkpoint

import (
	"fmt"
	"strings"
	"time"

	"weir/engine/serde"
)

const none = -1

// BarrierHandler decides when one task takes a checkpoint, by the barriers that come in its channels. It follows one
// checkpoint at a time (Flink's SingleCheckpointBarrierHandler with its states).
//
//   - An aligned barrier blocks its channel until the barrier has come on every channel that is still open; then the
//     snapshot is taken and the channels go on.
//   - An unaligned one triggers the snapshot when the first of them comes. Data that they overtake belongs to the
//     checkpoint and is persisted, channel by channel, until the channel's own barrier.
//   - An aligned one with a timeout is announced ahead of the data. It is aligned while time lasts; at NextTimer the
//     announced barriers are moved before the data, and the checkpoint goes on as an unaligned one.
//
// Ended channels count: one that ends while a checkpoint is pending stands for its barrier, and later ones do not wait
// for it. Without that a barrier racing the end of a source would block the task for ever.
//
// It is a plain value for one goroutine. The slices it answers are valid until its next call.
type BarrierHandler struct {
	current      int64 // newest checkpoint seen, or none
	last         int64 // newest one aborted or completed
	barrier      serde.CheckpointBarrier
	channels     []channelAlignment
	aligned      int // channels with barrier or end for the pending checkpoint
	target       int // how many it takes
	open         int
	strict       bool      // unaligned from the first barrier on, whatever the barriers say
	unaligned    bool      // barriers of the pending checkpoint overtake
	collecting   bool      // a barrier of it has been read
	deadline     time.Time // when an aligned one turns unaligned; zero is never
	startDelayNs int64
	alignFrom    time.Time
	aligning     bool
	bytesInAlign int64
	actions      []Action
}

type channelAlignment struct {
	aligned, blocked, ended bool
	announced               bool // its barrier is known to stand in the queue, as number seq
	seq                     int32
}

// NewBarrierHandler returns a handler for a task with this many channels over all its gates.
func NewBarrierHandler(channels int) *BarrierHandler {
	n := max(channels, 0)
	return &BarrierHandler{current: none, last: none, channels: make([]channelAlignment, n), open: n}
}

// NewUnalignedHandler returns one that lets every checkpoint be unaligned.
func NewUnalignedHandler(channels int) *BarrierHandler {
	h := NewBarrierHandler(channels)
	h.strict, h.unaligned = true, true
	return h
}

// Pending tells which checkpoint has begun and has not come to an end here.
func (h *BarrierHandler) Pending() (id int64, ok bool) { return h.current, h.pending() }

// Latest is the newest checkpoint id that the handler has seen, by barrier or by cancellation, or -1.
func (h *BarrierHandler) Latest() int64 { return h.current }

// Blocked tells whether a channel waits for the others.
func (h *BarrierHandler) Blocked(channel int) bool {
	return h.has(channel) && h.channels[channel].blocked
}

// NextTimer is when Timeout must be called; ok is false when nothing waits for a time.
func (h *BarrierHandler) NextTimer() (at time.Time, ok bool) { return h.deadline, !h.deadline.IsZero() }

func (h *BarrierHandler) pending() bool { return h.current != h.last && h.current >= 0 }

func (h *BarrierHandler) has(channel int) bool { return channel >= 0 && channel < len(h.channels) }

// Barrier takes a barrier read from a channel. A barrier of a checkpoint that is over only resumes the channel. A
// channel out of range changes nothing.
func (h *BarrierHandler) Barrier(channel int, b serde.CheckpointBarrier, now time.Time) []Action {
	h.actions = h.actions[:0]
	if !h.has(channel) {
		return nil
	}
	if h.over(b.ID) {
		if !b.Options.IsUnaligned() {
			h.add(Action{Kind: Resume, Channel: channel})
		}
		return h.actions
	}
	h.begin(b)
	h.arrive(channel, b, false, now)
	return h.actions
}

// Announcement takes the announcement of a barrier that stands in a channel's queue, as event number seq.
func (h *BarrierHandler) Announcement(channel int, b serde.CheckpointBarrier, seq int32, now time.Time) []Action {
	h.actions = h.actions[:0]
	if !h.has(channel) || h.over(b.ID) {
		return nil
	}
	h.begin(b)
	if h.unaligned {
		h.add(Action{Kind: Prioritize, Channel: channel, Seq: seq})
	} else {
		h.channels[channel].announced, h.channels[channel].seq = true, seq
	}
	return h.actions
}

// Timeout tells that the time of NextTimer has come. Called too early, or when nothing waits, it changes nothing.
func (h *BarrierHandler) Timeout(now time.Time) []Action {
	h.actions = h.actions[:0]
	if h.deadline.IsZero() || now.Before(h.deadline) {
		return nil
	}
	h.deadline = time.Time{}
	if h.pending() {
		h.overtake(h.barrier)
	}
	return h.actions
}

// Cancel takes a cancellation marker read from a channel. A late one, of a checkpoint older than what is known, changes
// nothing.
func (h *BarrierHandler) Cancel(channel int, id int64, now time.Time) []Action {
	h.actions = h.actions[:0]
	if id > h.current || id == h.current && h.aligned > 0 {
		h.abort(id, OnCancellationBarrier)
	}
	return h.actions
}

// GiveUp aborts the pending checkpoint for a reason that the task found. Another one changes nothing.
func (h *BarrierHandler) GiveUp(id int64, why Reason) []Action {
	h.actions = h.actions[:0]
	if h.current == id {
		h.abort(id, why)
	}
	return h.actions
}

// EndOfPartition takes the end of a channel.
func (h *BarrierHandler) EndOfPartition(channel int, now time.Time) []Action {
	h.actions = h.actions[:0]
	if !h.has(channel) || h.channels[channel].ended {
		return nil
	}
	c := &h.channels[channel]
	// An ended channel has no producer to resume, and nothing stands in its queue.
	c.ended, c.blocked, c.announced = true, false, false
	h.open--
	if h.pending() {
		h.arrive(channel, h.barrier, true, now)
	}
	return h.actions
}

// Processed counts bytes of records that the task has read, for BytesDuringAlignment.
func (h *BarrierHandler) Processed(bytes int) {
	if h.aligning {
		h.bytesInAlign += int64(bytes)
	}
}

// over tells that a checkpoint is not the pending one, and no newer one.
func (h *BarrierHandler) over(id int64) bool {
	return h.current > id || h.current == id && !h.pending()
}

// begin makes b's checkpoint the pending one, if it is newer.
func (h *BarrierHandler) begin(b serde.CheckpointBarrier) {
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
	if !h.strict && b.Options.IsTimeoutable() {
		h.deadline = time.UnixMilli(b.Timestamp + b.Options.AlignedTimeoutMs)
	}
}

// arrive notes that a channel has brought its barrier b, or that it has ended.
func (h *BarrierHandler) arrive(channel int, b serde.CheckpointBarrier, end bool, now time.Time) {
	if c := &h.channels[channel]; !c.aligned {
		c.aligned = true
		h.aligned++
		if h.aligned == 1 {
			// Flink measures the delay in whole ms of the wall clock, since it spans machines.
			h.startDelayNs = max(0, now.UnixMilli()-h.barrier.Timestamp) * int64(time.Millisecond)
			h.alignFrom, h.aligning, h.bytesInAlign = now, true, 0
		}
	}
	all := h.aligned >= h.target
	if h.unaligned {
		h.arriveUnaligned(channel, b, end, all, now)
	} else {
		h.arriveAligned(channel, b, end, all, now)
	}
	if all {
		h.last = h.current
		h.release()
	}
}

func (h *BarrierHandler) arriveAligned(channel int, b serde.CheckpointBarrier, end, all bool, now time.Time) {
	if !end {
		if b.Options.IsUnaligned() { // it timed out upstream
			h.overtake(b)
			h.arriveUnaligned(channel, b, end, all, now)
			return
		}
		h.channels[channel].announced = false
		h.block(channel)
	}
	switch {
	case all:
		h.trigger(h.barrier, all, now)
	case h.timedOut(b, now) && (!end || h.collecting):
		h.overtake(b)
		h.arriveUnaligned(channel, b.AsUnaligned(), end, all, now)
	case !end:
		h.collecting = true
	}
}

func (h *BarrierHandler) arriveUnaligned(channel int, b serde.CheckpointBarrier, end, all bool, now time.Time) {
	if !end && !b.Options.IsUnaligned() {
		// It was moved before the data here; its producer has stopped all the same.
		h.block(channel)
	}
	if !h.collecting && (!end || all) {
		h.collecting = true
		h.persist(b.AsUnaligned(), all, now)
	}
	if all {
		a := Action{Kind: StopPersisting, ID: h.current, Complete: true}
		h.alignment(&a, now)
		h.add(a)
	}
}

// overtake turns the pending checkpoint into an unaligned one.
func (h *BarrierHandler) overtake(b serde.CheckpointBarrier) {
	if h.unaligned {
		return
	}
	h.unaligned, h.deadline = true, time.Time{}
	for i := range h.channels {
		if c := &h.channels[i]; c.announced {
			c.announced = false
			h.add(Action{Kind: Prioritize, Channel: i, Seq: c.seq})
		}
	}
	if h.collecting {
		h.persist(b.AsUnaligned(), false, time.Time{})
	}
}

func (h *BarrierHandler) persist(b serde.CheckpointBarrier, all bool, now time.Time) {
	h.add(Action{Kind: StartPersisting, ID: h.current, Barrier: b})
	h.trigger(b, all, now)
}

func (h *BarrierHandler) trigger(b serde.CheckpointBarrier, all bool, now time.Time) {
	a := Action{Kind: Trigger, ID: h.current, Barrier: b, StartDelayNs: h.startDelayNs}
	if all {
		h.alignment(&a, now)
	}
	h.add(a)
}

// alignment says what the alignment took. A single channel has nothing to wait for.
func (h *BarrierHandler) alignment(a *Action, now time.Time) {
	if h.target > 1 {
		a.AlignmentNs, a.BytesDuringAlignment = int64(now.Sub(h.alignFrom)), h.bytesInAlign
	}
}

// timedOut: the timer may not have run yet when a late barrier is read.
func (h *BarrierHandler) timedOut(b serde.CheckpointBarrier, now time.Time) bool {
	return b.Options.IsTimeoutable() && b.Options.AlignedTimeoutMs < now.UnixMilli()-b.Timestamp
}

func (h *BarrierHandler) block(channel int) {
	if c := &h.channels[channel]; !c.blocked {
		c.blocked = true
		h.add(Action{Kind: Block, Channel: channel})
	}
}

func (h *BarrierHandler) abort(id int64, why Reason) {
	if h.pending() && h.unaligned && h.collecting {
		h.add(Action{Kind: StopPersisting, ID: h.current})
	}
	h.current = max(h.current, id)
	h.last = max(h.last, id)
	h.release()
	h.add(Action{Kind: Abort, ID: id, Reason: why})
}

// release ends an alignment and opens all channels.
func (h *BarrierHandler) release() {
	h.aligning, h.collecting, h.unaligned = false, false, h.strict
	h.deadline = time.Time{}
	h.clearAligned()
	for i := range h.channels {
		c := &h.channels[i]
		c.announced = false
		if c.blocked {
			c.blocked = false
			h.add(Action{Kind: Resume, Channel: i})
		}
	}
}

func (h *BarrierHandler) clearAligned() {
	h.aligned, h.target = 0, 0
	for i := range h.channels {
		h.channels[i].aligned = false
	}
}

func (h *BarrierHandler) add(a Action) { h.actions = append(h.actions, a) }

// String is one line of what the handler knows.
func (h *BarrierHandler) String() string {
	var b strings.Builder
	if id, ok := h.Pending(); ok {
		fmt.Fprintf(&b, "pending %d", id)
		if h.unaligned {
			b.WriteString(" unaligned")
		}
		fmt.Fprintf(&b, ", aligned %d of %d", h.aligned, h.target)
	} else {
		b.WriteString("nothing pending")
	}
	h.list(&b, "blocked", func(c *channelAlignment) bool { return c.blocked }, true)
	h.list(&b, "announced", func(c *channelAlignment) bool { return c.announced }, false)
	fmt.Fprintf(&b, ", open %d", h.open)
	return b.String()
}

// list writes the channels that something is true of; an empty list only if always.
func (h *BarrierHandler) list(b *strings.Builder, name string, is func(*channelAlignment) bool, always bool) {
	var in []string
	for i := range h.channels {
		if is(&h.channels[i]) {
			in = append(in, fmt.Sprint(i))
		}
	}
	if always || len(in) > 0 {
		fmt.Fprintf(b, ", %s {%s}", name, strings.Join(in, ","))
	}
}
