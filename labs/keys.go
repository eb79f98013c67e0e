package labs

import (
	"weir/engine/keygroup"
	"weir/engine/serde"
)

// ParseKeyType finds a key type by its name, as the knob keyType has them.
func ParseKeyType(name string) (serde.KeyType, error) { return serde.ParseKeyType(name) }

// KeyPlace is where a key goes: its Java hash code, its group, the subtask that owns the group.
type KeyPlace struct {
	Key      string `json:"key"`
	Hash     int32  `json:"hash"`
	KeyGroup int    `json:"keyGroup"`
	Subtask  int    `json:"subtask"`
}

// PlaceKey says where a key given as text goes. A maxParallelism of 0 is derived from the parallelism; both must have
// been checked.
func PlaceKey(t serde.KeyType, text string, maxParallelism, parallelism int) (KeyPlace, error) {
	k, err := serde.ParseKey(t, text)
	if err != nil {
		return KeyPlace{}, err
	}
	if maxParallelism == 0 {
		maxParallelism = keygroup.DefaultMaxParallelism(parallelism)
	}
	p := KeyPlace{Key: text, Hash: serde.HashKey(t, k)}
	p.KeyGroup = keygroup.Assign(p.Hash, maxParallelism)
	p.Subtask = keygroup.OperatorIndex(maxParallelism, parallelism, p.KeyGroup)
	return p, nil
}
