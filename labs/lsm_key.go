package labs

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/lsm"
)

// KeyLayout is how the LSM store names the value of one key in one state.
type KeyLayout struct {
	KeyPlace
	State  string    `json:"state"`
	States []string  `json:"states"` // those there are
	Parts  []KeyPart `json:"parts"`
	// Flink are the parts of the key in RocksDB, where each state has a column family of its own.
	Flink []KeyPart `json:"flink"`
	// Range is what all keys of the key group begin with, and what the first key behind them does.
	Range [2]string `json:"range"`
}

// KeyPart is a run of bytes of a key.
type KeyPart struct {
	Name    string `json:"name"` // keyGroup stateId key namespace userKey
	Hex     string `json:"hex"`
	Bytes   int    `json:"bytes"`
	Meaning string `json:"meaning"`
}

// LookAtKey tells under which bytes the running job keeps a key that is given as text, in a state of the counting operator;
// an empty name is its first. A userKey is a text that stands for the key of an entry, as if the state were a map.
func (r *Run) LookAtKey(key, stateName, userKey string) (*KeyLayout, error) {
	s, v := r.Snapshot(), r.Values()
	t, err := serde.ParseKeyType(v.String("keyType"))
	if err != nil {
		return nil, err
	}
	var vertex *metric.Vertex
	for i := range s.Vertices {
		if s.Vertices[i].ID == "count" {
			vertex = &s.Vertices[i]
		}
	}
	if vertex == nil {
		return nil, &ActionError{"key", "this lab keeps no counts by key"}
	}
	states := statesOf(vertex)
	if len(states) == 0 {
		return nil, &ActionError{"key", "no LSM store to look at: the backend has to be lsm, and the job has to run"}
	}
	at := slices.IndexFunc(states, func(st metric.LSMState) bool { return st.Name == stateName })
	if stateName == "" {
		at = 0
	}
	l := &KeyLayout{}
	for _, st := range states {
		l.States = append(l.States, st.Name)
	}
	if at < 0 {
		return nil, &ActionError{"state", fmt.Sprintf("%q is no state of the job: there are %v", stateName, l.States)}
	}
	k, err := serde.ParseKey(t, key)
	if err != nil {
		return nil, &ActionError{"key", err.Error()}
	}
	if l.KeyPlace, err = PlaceKey(t, key, vertex.MaxParallelism, vertex.Parallelism); err != nil {
		return nil, &ActionError{"key", err.Error()}
	}
	l.State = states[at].Name
	l.lay(t, k, states[at], vertex.MaxParallelism, userKey)
	return l, nil
}

// statesOf are the states of the first subtask that tells of any.
func statesOf(v *metric.Vertex) []metric.LSMState {
	for i := range v.Subtasks {
		if st := v.Subtasks[i].State; st != nil && st.LSM != nil && len(st.LSM.States) > 0 {
			return st.LSM.States
		}
	}
	return nil
}

func (l *KeyLayout) lay(t serde.KeyType, k serde.Key, st metric.LSMState, maxParallelism int, userKey string) {
	prefix := lsm.KeyGroupPrefixBytes(maxParallelism)
	b := lsm.NewCompositeKey(maxParallelism)
	b.SetKey(l.KeyGroup, t, k)
	var user []byte
	if userKey != "" {
		codec := state.String()
		user = codec.Append(nil, userKey)
	}
	all := b.UserKey(uint16(st.ID), lsm.VoidNamespace, user)
	keyAt, nsAt := prefix+lsm.StateIDBytes, len(all)-len(user)-len(lsm.VoidNamespace.Bytes)
	part := func(name string, from, to int, meaning string) KeyPart {
		return KeyPart{name, hex.EncodeToString(all[from:to]), to - from, meaning}
	}
	group := part("keyGroup", 0, prefix, strconv.Itoa(l.KeyGroup))
	rest := []KeyPart{part("key", keyAt, nsAt, l.Key), part("namespace", nsAt, nsAt+len(lsm.VoidNamespace.Bytes), "")}
	if user != nil {
		rest = append(rest, part("userKey", len(all)-len(user), len(all), userKey))
	}
	l.Parts = append([]KeyPart{group, part("stateId", prefix, keyAt, fmt.Sprintf("%d = %s", st.ID, st.Name))}, rest...)
	l.Flink = append([]KeyPart{group}, rest...)
	l.Range = [2]string{hex.EncodeToString(lsm.AppendKeyGroup(nil, l.KeyGroup, prefix)), hex.EncodeToString(lsm.AppendKeyGroup(nil, l.KeyGroup+1, prefix))}
}
