package state

import (
	"fmt"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/serde"
)

// Options say where a state lives.
type Options struct {
	Name           string
	Key            serde.KeyType
	MaxParallelism int
	KeyGroups      keygroup.Range // of this subtask
}

// Value is one value per key (Flink's ValueState). It belongs to its task's goroutine. The place that a key was found
// at is remembered, so that reading and then updating a key searches once.
type Value[V any] struct {
	_     [128]byte // what is written per record has its own cache lines
	o     Options
	codec Codec[V]
	// One of the two is used: keys of all types but String are numbers.
	numbers []table[int64, V]
	strings []table[string, V]

	group int // the current key's, counted from the range's first
	hash  int32
	key   serde.Key
	at    int // where the current key lies: its entry, absent or unknown

	stats Stats
	_     [128]byte
}

const (
	absent  = -1
	unknown = -2
)

// Stats are what the Snapshot tells of a state.
type Stats struct {
	Keys           int64
	Bytes          int64 // of keys and values as they stand in a checkpoint
	RestoredKeys   int64
	KeysOutOfRange int64 // offered by a restore but of another subtask's key groups, and left out
}

// NewValue makes an empty state.
func NewValue[V any](o Options, codec Codec[V]) (*Value[V], error) {
	if err := keygroup.CheckMaxParallelism(o.MaxParallelism); err != nil {
		return nil, fmt.Errorf("state %q: %w", o.Name, err)
	}
	r := o.KeyGroups
	if r.Size() > 0 && (r.First < 0 || r.Last >= o.MaxParallelism) {
		return nil, fmt.Errorf("state %q: key groups %v, must lie in 0 to %d", o.Name, r, o.MaxParallelism-1)
	}
	v := &Value[V]{o: o, codec: codec, at: unknown, group: -1}
	if o.Key == serde.String {
		v.strings = make([]table[string, V], r.Size())
	} else {
		v.numbers = make([]table[int64, V], r.Size())
	}
	return v, nil
}

// SetCurrentKey sets the key that Get and Put speak of, with its Java hash code. A key of another subtask's key groups
// is refused, as in Flink, where it shows that the key does not hash to the same value each time.
func (v *Value[V]) SetCurrentKey(key serde.Key, hash int32) error {
	group := keygroup.Assign(hash, v.o.MaxParallelism)
	if !v.o.KeyGroups.Contains(group) {
		return fmt.Errorf("state %q: key %s has key group %d, this subtask has %v", v.o.Name, serde.FormatKey(v.o.Key, key), group, v.o.KeyGroups)
	}
	v.key, v.hash, v.group, v.at = key, hash, group-v.o.KeyGroups.First, unknown
	return nil
}

func (v *Value[V]) find() {
	if v.strings != nil {
		v.at = v.strings[v.group].find(v.hash, v.key.Str)
	} else {
		v.at = v.numbers[v.group].find(v.hash, v.key.Num)
	}
}

// Get is the value of the current key; false if it has none.
func (v *Value[V]) Get() (value V, ok bool) {
	if v.at == unknown {
		v.find()
	}
	if v.at == absent {
		return value, false
	}
	if v.strings != nil {
		return v.strings[v.group].entries[v.at].value, true
	}
	return v.numbers[v.group].entries[v.at].value, true
}

// Put sets the value of the current key. The key is cloned when it is new; the value is kept as it is given.
func (v *Value[V]) Put(value V) {
	if v.at == unknown {
		v.find()
	}
	if v.at == absent {
		v.insert(value)
		return
	}
	var slot *V
	if v.strings != nil {
		slot = &v.strings[v.group].entries[v.at].value
	} else {
		slot = &v.numbers[v.group].entries[v.at].value
	}
	if v.codec.Fixed == 0 {
		v.stats.Bytes += int64(v.codec.Size(value) - v.codec.Size(*slot))
	}
	*slot = value
}

func (v *Value[V]) insert(value V) {
	if v.strings != nil {
		v.key.Str = strings.Clone(v.key.Str)
		v.at = v.strings[v.group].insert(v.hash, v.key.Str, value)
	} else {
		v.at = v.numbers[v.group].insert(v.hash, v.key.Num, value)
	}
	v.stats.Keys++
	v.stats.Bytes += int64(keySize(v.o.Key, v.key) + v.codec.size(value))
}

// Stats are the state's figures now.
func (v *Value[V]) Stats() Stats { return v.stats }

// Each calls f for every key, by key group and within one in order of insertion, until f returns false. f must not
// change the state.
func (v *Value[V]) Each(f func(group int, key serde.Key, value V) bool) {
	for g := range v.o.KeyGroups.Size() {
		if !v.eachOf(g, func(k serde.Key, value V) bool { return f(v.o.KeyGroups.First+g, k, value) }) {
			return
		}
	}
}

func (v *Value[V]) eachOf(g int, f func(key serde.Key, value V) bool) bool {
	if v.strings != nil {
		for _, e := range v.strings[g].entries {
			if !f(serde.Key{Str: e.key}, e.value) {
				return false
			}
		}
		return true
	}
	for _, e := range v.numbers[g].entries {
		if !f(serde.Key{Num: e.key}, e.value) {
			return false
		}
	}
	return true
}

func (v *Value[V]) sizeOf(g int) int {
	if v.strings != nil {
		return len(v.strings[g].entries)
	}
	return len(v.numbers[g].entries)
}
