package golden

import (
	"fmt"

	"weir/engine/keygroup"
	"weir/engine/serde"
)

type keyGroupsHeader struct {
	MaxParallelisms []int `json:"maxParallelisms"`
	Parallelisms    []int `json:"parallelisms"`
}

type keyGroupsCase struct {
	Kind string `json:"kind"`
	In   int32  `json:"in"`
	Out  int32  `json:"out"`
	value
	Hash     int32    `json:"hash"`
	Murmur   int32    `json:"murmur"`
	KeyGroup []int    `json:"keyGroup"`
	Operator [][]*int `json:"operator"`
}

// KeyGroups replays keygroups.json: hash codes, murmur, key groups and owning subtasks.
func KeyGroups(data []byte) (Report, error) {
	var h keyGroupsHeader
	return replay(data, &h, func(c *keyGroupsCase) error {
		switch c.Kind {
		case "murmur":
			if got := keygroup.Murmur(c.In); got != c.Out {
				return differs("the murmur", got, c.Out)
			}
			return nil
		case "key":
			return c.check(&h)
		}
		return fmt.Errorf("unknown kind %q", c.Kind)
	})
}

func (c *keyGroupsCase) hash() (int32, error) {
	if c.Type == tupleType {
		f0, f1, err := c.tuple()
		return keygroup.HashTuple(f0, f1), err
	}
	t, k, err := c.key()
	return serde.HashKey(t, k), err
}

func (c *keyGroupsCase) check(h *keyGroupsHeader) error {
	hash, err := c.hash()
	if err != nil {
		return err
	}
	if hash != c.Hash {
		return differs("the hash code", hash, c.Hash)
	}
	if m := keygroup.Murmur(hash); m != c.Murmur {
		return differs("the murmur", m, c.Murmur)
	}
	if len(c.KeyGroup) != len(h.MaxParallelisms) || len(c.Operator) != len(h.MaxParallelisms) {
		return differs("the number of max parallelisms", len(c.KeyGroup), len(h.MaxParallelisms))
	}
	for i, maxParallelism := range h.MaxParallelisms {
		group := keygroup.Assign(hash, maxParallelism)
		if group != c.KeyGroup[i] {
			return differs(fmt.Sprintf("the key group of %d", maxParallelism), group, c.KeyGroup[i])
		}
		if len(c.Operator[i]) != len(h.Parallelisms) {
			return differs("the number of parallelisms", len(c.Operator[i]), len(h.Parallelisms))
		}
		for j, parallelism := range h.Parallelisms {
			what := fmt.Sprintf("the subtask of %d at max %d", parallelism, maxParallelism)
			table, want := keygroup.Table(maxParallelism, parallelism), c.Operator[i][j]
			switch {
			case (want == nil) != (table == nil):
				return fmt.Errorf("%s: there must be one exactly if the parallelism is within the maximum", what)
			case want == nil:
				continue
			}
			if got := keygroup.OperatorIndex(maxParallelism, parallelism, group); got != *want {
				return differs(what, got, *want)
			}
			if got := int(table[group]); got != *want {
				return differs(what+" in the table", got, *want)
			}
		}
	}
	return nil
}
