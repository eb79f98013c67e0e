package checkpoint

import (
	"fmt"
	"slices"
)

// Mode says how the entries of an operator state are dealt when a job is restored (Flink's OperatorStateHandle.Mode).
type Mode uint8

// The modes.
const (
	// SplitDistribute: each entry goes to one subtask, in equal shares. Flink's getListState.
	SplitDistribute Mode = iota
	// Union: every subtask gets all entries and picks its own. Flink's getUnionListState.
	Union
	// Broadcast: every subtask had the same entries, and each new one gets one old one's. Flink's getBroadcastState.
	Broadcast
)

var modes = [...]string{"split", "union", "broadcast"}

func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// NamedState is one operator state of one subtask: entries under a name.
type NamedState struct {
	Name    string
	Mode    Mode
	Entries [][]byte
}

// stateKey tells states apart: a name may have a state of each mode.
type stateKey struct {
	name string
	mode Mode
}

// dealer deals the named states of one operator to its new subtasks.
type dealer struct {
	order    []stateKey // as the states first appear, by old subtask
	old      map[stateKey][]oldEntries
	subtasks []map[stateKey]map[int][][]byte
}

type oldEntries struct {
	subtask int
	entries [][]byte
}

func newDealer(old [][]NamedState, parallelism int) *dealer {
	d := &dealer{old: map[stateKey][]oldEntries{}, subtasks: make([]map[stateKey]map[int][][]byte, parallelism)}
	for i := range d.subtasks {
		d.subtasks[i] = map[stateKey]map[int][][]byte{}
	}
	for i, states := range old {
		for _, s := range states {
			k := stateKey{s.Name, s.Mode}
			if d.old[k] == nil {
				d.order = append(d.order, k)
			}
			d.old[k] = append(d.old[k], oldEntries{i, s.Entries})
		}
	}
	return d
}

func (d *dealer) give(to int, k stateKey, from int, entries [][]byte) {
	m := d.subtasks[to][k]
	if m == nil {
		m = map[int][][]byte{}
		d.subtasks[to][k] = m
	}
	m[from] = entries
}

// partlyReported tells whether some old subtasks had the state and others not: these had finished.
func (d *dealer) partlyReported(k stateKey, oldParallelism int) bool {
	n := len(d.old[k])
	return n > 0 && n < oldParallelism
}

// dealNamed deals named operator states, one list an old subtask, to parallelism subtasks, as Flink's
// RoundRobinOperatorStateRepartitioner:
//
//   - While the parallelism is unchanged split and broadcast state stays where it was, however uneven. Union state goes to
//     all, and so does broadcast state that some old subtask did not report, one old copy to each.
//   - Else the entries of a split state are dealt in the old order, in equal shares, the first subtasks one more while there
//     is a rest; each state starts at the subtask where the rest of the one before it ended. start is where the first begins.
//
// A new subtask without any entry of a split state does not see that state at all.
func dealNamed(old [][]NamedState, parallelism, start int) [][]NamedState {
	return newDealer(old, parallelism).deal(len(old), start)
}

func (d *dealer) deal(oldParallelism, start int) [][]NamedState {
	parallelism := len(d.subtasks)
	same := oldParallelism == parallelism
	for _, k := range d.order {
		if same {
			for _, o := range d.old[k] {
				d.give(o.subtask, k, o.subtask, o.entries)
			}
		}
		switch {
		case k.mode == Union:
			for to := range parallelism {
				for _, o := range d.old[k] {
					d.give(to, k, o.subtask, o.entries)
				}
			}
		case k.mode == Broadcast && (!same || d.partlyReported(k, oldParallelism)):
			for to := range parallelism {
				o := d.old[k][to%len(d.old[k])]
				d.give(to, k, o.subtask, o.entries)
			}
		case k.mode == SplitDistribute && !same:
			start = d.dealSplit(k, start)
		}
	}
	out := make([][]NamedState, parallelism)
	for i := range out {
		out[i] = d.result(i)
	}
	return out
}

// dealSplit deals one split state, beginning at a subtask, and returns where the next state begins.
func (d *dealer) dealSplit(k stateKey, start int) int {
	type entry struct {
		from int
		data []byte
	}
	lists := make([][]entry, len(d.old[k]))
	for i, o := range d.old[k] {
		for _, e := range o.entries {
			lists[i] = append(lists[i], entry{o.subtask, e})
		}
	}
	dealt, next := dealInTurn(lists, len(d.subtasks), start)
	for to, entries := range dealt {
		for _, e := range entries {
			var before [][]byte
			if m := d.subtasks[to][k]; m != nil {
				before = m[e.from]
			}
			d.give(to, k, e.from, append(before, e.data))
		}
	}
	return next
}

// result joins what a subtask got, by state as they appeared and within one by old subtask.
func (d *dealer) result(subtask int) []NamedState {
	var out []NamedState
	for _, k := range d.order {
		m, ok := d.subtasks[subtask][k]
		if !ok {
			continue
		}
		from := make([]int, 0, len(m))
		for i := range m {
			from = append(from, i)
		}
		slices.Sort(from)
		s := NamedState{Name: k.name, Mode: k.mode}
		for _, i := range from {
			s.Entries = append(s.Entries, m[i]...)
		}
		out = append(out, s)
	}
	return out
}
