package operator

import (
	"encoding/binary"
	"fmt"

	"weir/engine/task"
)

// eventSplit is a piece of a sequence of numbers with the event time that it has come to.
//
// In a checkpoint it is 33 bytes: version 1, then big-endian its index and the number of splits (4 bytes each), the next
// number, the end, and the event time of the next record in ns (8 each).
type eventSplit struct {
	numberSplit
	timeNs int64
	newest int64 // event time of its records so far, in ms; not part of a checkpoint, as in Flink
}

const (
	eventSplitVersion = 1
	eventSplitBytes   = 33
)

func newEventSplit(n numberSplit, timeNs int64) eventSplit {
	return eventSplit{numberSplit: n, timeNs: timeNs, newest: task.NoWatermark}
}

func (p *eventSplit) ended() bool { return p.next >= p.end }

// emit moves behind the next record and answers its event time in ms.
func (p *eventSplit) emit(stepNs, disorderMs int64) int64 {
	ms := p.timeNs / 1e6
	if disorderMs > 0 {
		ms = max(0, ms-int64(scatter(uint64(p.next))%uint64(disorderMs+1)))
	}
	p.next++
	p.timeNs += stepNs
	p.newest = max(p.newest, ms)
	return ms
}

// scatter is a number that looks like chance and follows from n (the finalizer of splitmix64).
func scatter(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func (p *eventSplit) append(b []byte) []byte {
	b = append(b, eventSplitVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(p.index))
	b = binary.BigEndian.AppendUint32(b, uint32(p.of))
	b = binary.BigEndian.AppendUint64(b, uint64(p.next))
	b = binary.BigEndian.AppendUint64(b, uint64(p.end))
	return binary.BigEndian.AppendUint64(b, uint64(p.timeNs))
}

func parseEventSplit(b []byte) (p eventSplit, err error) {
	if len(b) != eventSplitBytes || b[0] != eventSplitVersion {
		return p, fmt.Errorf("%d bytes, expected %d bytes of version %d", len(b), eventSplitBytes, eventSplitVersion)
	}
	n := numberSplit{
		index: int(binary.BigEndian.Uint32(b[1:])), of: int(binary.BigEndian.Uint32(b[5:])),
		next: int64(binary.BigEndian.Uint64(b[9:])), end: int64(binary.BigEndian.Uint64(b[17:])),
	}
	p = newEventSplit(n, int64(binary.BigEndian.Uint64(b[25:])))
	if p.index >= p.of || p.next < 0 || p.next > p.end || p.timeNs < 0 {
		return p, fmt.Errorf("number %d of %d, from %d to %d at %d ns, makes no sense", p.index, p.of, p.next, p.end, p.timeNs)
	}
	return p, nil
}
