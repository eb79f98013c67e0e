package operator

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"weir/engine/checkpoint"
)

// numberSplit is a piece of a sequence of numbers (Flink's NumberSequenceSplit): next is what it emits next, end is
// behind its last.
type numberSplit struct {
	index, of int // its place among the splits of the first start
	next, end int64
}

// splitNumbers cuts 0 to count-1 into of pieces in order, the first ones longer by one if it does not come out even, and
// returns the one at index (Flink's NumberSequenceIterator.split).
func splitNumbers(count int64, of, index int) numberSplit {
	size, extra := count/int64(of), count%int64(of)
	i := int64(index)
	s := numberSplit{index: index, of: of, next: i*size + min(i, extra)}
	s.end = s.next + size
	if i < extra {
		s.end++
	}
	return s
}

// numberSplits are the splits of one source subtask.
//
// A split in a checkpoint is 25 bytes: version 1, then big-endian its index and the number of splits (4 bytes each), the
// next number and the end (8 each).
type numberSplits struct {
	splits   []numberSplit
	restored bool
}

const (
	numberSplitVersion = 1
	numberSplitBytes   = 25
)

// open gives a subtask of a job that starts afresh its split. A restored one has what it was dealt, or nothing.
func (n *numberSplits) open(count int64, parallelism, index int) {
	if !n.restored {
		n.splits = []numberSplit{splitNumbers(count, parallelism, index)}
	}
}

// share is the part of the splits that the subtask has and that are not at their end.
func (n *numberSplits) share() float64 {
	live, of := 0, 1
	for _, s := range n.splits {
		of = s.of
		if s.next < s.end {
			live++
		}
	}
	return float64(live) / float64(of)
}

func (n *numberSplits) snapshot() *checkpoint.OperatorState {
	s := &checkpoint.OperatorState{Splits: make([][]byte, 0, len(n.splits))}
	for _, p := range n.splits {
		b := make([]byte, 0, numberSplitBytes)
		b = append(b, numberSplitVersion)
		b = binary.BigEndian.AppendUint32(b, uint32(p.index))
		b = binary.BigEndian.AppendUint32(b, uint32(p.of))
		b = binary.BigEndian.AppendUint64(b, uint64(p.next))
		b = binary.BigEndian.AppendUint64(b, uint64(p.end))
		s.Splits = append(s.Splits, b)
	}
	return s
}

func (n *numberSplits) restore(s *checkpoint.OperatorState) error {
	n.splits, n.restored = nil, true
	if s == nil {
		return nil
	}
	for i, b := range s.Splits {
		if len(b) != numberSplitBytes || b[0] != numberSplitVersion {
			return fmt.Errorf("split %d of the source: %d bytes, expected %d bytes of version %d", i, len(b), numberSplitBytes, numberSplitVersion)
		}
		p := numberSplit{
			index: int(binary.BigEndian.Uint32(b[1:])), of: int(binary.BigEndian.Uint32(b[5:])),
			next: int64(binary.BigEndian.Uint64(b[9:])), end: int64(binary.BigEndian.Uint64(b[17:])),
		}
		if p.index >= p.of || p.next < 0 || p.next > p.end {
			return fmt.Errorf("split %d of the source: number %d of %d, from %d to %d, makes no sense", i, p.index, p.of, p.next, p.end)
		}
		n.splits = append(n.splits, p)
	}
	return nil
}

// divisor divides by one number many times, with a multiplication instead of a division.
type divisor struct{ d, inverse uint64 }

func newDivisor(d uint64) divisor { return divisor{d, ^uint64(0) / d} }

// mod is n % d: the product is the quotient or one less.
func (v divisor) mod(n uint64) uint64 {
	q, _ := bits.Mul64(n, v.inverse)
	r := n - q*v.d
	if r >= v.d {
		r -= v.d
	}
	return r
}
