package golden

import (
	"fmt"
	"strconv"

	"weir/engine/internal/wtf8"
	"weir/engine/serde"
)

const tupleType = "Tuple2<Long,String>"

// value is a key or a record's value in a golden file.
type value struct {
	Type       string   `json:"type"`
	Value      string   `json:"value"`
	ValueUnits []uint16 `json:"value_utf16"`
	Bits       string   `json:"bits"`
	F0         string   `json:"f0"`
	F1         string   `json:"f1"`
	F1Units    []uint16 `json:"f1_utf16"`
}

// key gives the value as a key, unless it is a tuple.
func (v *value) key() (serde.KeyType, serde.Key, error) {
	types := map[string]serde.KeyType{"Long": serde.Long, "Integer": serde.Int, "String": serde.String,
		"Boolean": serde.Bool, "Double": serde.Double}
	t, ok := types[v.Type]
	if !ok {
		return 0, serde.Key{}, fmt.Errorf("unknown type %q", v.Type)
	}
	text := v.Value
	if v.ValueUnits != nil {
		text = wtf8.FromUnits(v.ValueUnits)
	}
	k, err := serde.ParseKey(t, text)
	if err == nil && v.Bits != "" {
		if bits := fmt.Sprintf("%016x", uint64(k.Num)); bits != v.Bits {
			return 0, k, differs("the bits of "+v.Value, bits, v.Bits)
		}
	}
	return t, k, err
}

// tuple gives the fields of a Tuple2<Long,String>.
func (v *value) tuple() (int64, string, error) {
	f1 := v.F1
	if v.F1Units != nil {
		f1 = wtf8.FromUnits(v.F1Units)
	}
	f0, err := strconv.ParseInt(v.F0, 10, 64)
	return f0, f1, err
}

// record gives the value as a record and its schema.
func (v *value) record() (serde.Schema, serde.Record, error) {
	if v.Type == tupleType {
		f0, f1, err := v.tuple()
		return serde.Schema{Key: serde.Long, Payload: true}, serde.Record{Key: serde.Key{Num: f0}, Payload: f1}, err
	}
	t, k, err := v.key()
	return serde.Schema{Key: t}, serde.Record{Key: k}, err
}
