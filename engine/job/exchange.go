package job

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/network"
	"weir/engine/task"
)

// Exchange says how records are dealt to the subtasks downstream.
type Exchange uint8

// The exchanges. Hash, Rebalance and Broadcast join every subtask to every subtask (Flink's ALL_TO_ALL pattern), Forward
// and Rescale a subtask to some (POINTWISE).
const (
	Hash      Exchange = iota // by key group
	Forward                   // subtask i to subtask i
	Rebalance                 // in turn, to every subtask
	Rescale                   // in turn, to the subtasks near by
	Broadcast                 // each record to every subtask
)

var exchangeNames = [...]string{Hash: "hash", Forward: "forward", Rebalance: "rebalance", Rescale: "rescale", Broadcast: "broadcast"}

// String is the name of the exchange as Settings.Exchange has it.
func (e Exchange) String() string {
	if int(e) < len(exchangeNames) {
		return exchangeNames[e]
	}
	return fmt.Sprintf("Exchange(%d)", uint8(e))
}

// ParseExchange reads the name of an exchange: hash, forward, rebalance, rescale or broadcast.
func ParseExchange(s string) (Exchange, error) {
	for i, n := range exchangeNames {
		if n == s {
			return Exchange(i), nil
		}
	}
	return 0, fmt.Errorf("exchange %q, must be one of %s", s, strings.Join(exchangeNames[:], ", "))
}

// Pointwise says that a subtask is joined to some subtasks of the other vertex, not to all.
func (e Exchange) Pointwise() bool { return e == Forward || e == Rescale }

// endpoint is one subpartition of one producing subtask.
type endpoint struct{ producer, subpartition int }

// subpartitions is how many consumers subtask producer of p has among q.
func (e Exchange) subpartitions(producer, p, q int) int {
	if !e.Pointwise() {
		return q
	}
	if p >= q {
		return 1
	}
	first, end := consumersOf(producer, p, q)
	return end - first
}

// inputs are the subpartitions that subtask consumer of q reads, in the order of its channels (Flink's
// VertexInputInfoComputationUtils).
func (e Exchange) inputs(consumer, p, q int) []endpoint {
	var in []endpoint
	switch {
	case !e.Pointwise():
		for i := range p {
			in = append(in, endpoint{i, consumer})
		}
	case p >= q:
		for i := consumer * p / q; i < (consumer+1)*p/q; i++ {
			in = append(in, endpoint{i, 0})
		}
	default:
		for i := range p {
			if first, end := consumersOf(i, p, q); first <= consumer && consumer < end {
				in = append(in, endpoint{i, consumer % (end - first)})
			}
		}
	}
	return in
}

// consumersOf are the consumers first to end-1 of a producer in a pointwise exchange from p to a larger q.
func consumersOf(producer, p, q int) (first, end int) {
	return (producer*q + p - 1) / p, ((producer+1)*q + p - 1) / p
}

// deal sets how the writer of a producing subtask routes its records. groups is the max parallelism of the consumers.
//
// Rebalance begins at a random subpartition, so that the producers do not all begin with the same one; here it follows
// from the seed, so that a run can be repeated.
func (e Exchange) deal(o *network.WriterOptions, s *task.Settings, from string, subtask, subpartitions, groups int) {
	switch e {
	case Hash:
		o.Route = keygroup.Table(groups, subpartitions)
	case Rebalance:
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", from, subtask)
		o.Partitioner, o.Turn = network.RoundRobin, rand.New(rand.NewPCG(uint64(s.Seed), h.Sum64())).IntN(subpartitions)
	case Rescale:
		o.Partitioner, o.Turn = network.RoundRobin, -1
	case Broadcast:
		o.Partitioner = network.ToAll
	}
}
