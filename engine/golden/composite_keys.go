package golden

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state/lsm"
)

type compositeKeyCase struct {
	Kind string `json:"kind"`
	// Of prefixBytes, composite and compositeUserKey.
	MaxParallelism int      `json:"maxParallelism"`
	Bytes          int      `json:"bytes"`
	PrefixBytes    int      `json:"prefixBytes"`
	KeyGroup       int      `json:"keyGroup"`
	KeyType        string   `json:"keyType"`
	Key            string   `json:"key"`
	KeyUnits       []uint16 `json:"key_utf16"`
	NamespaceType  string   `json:"namespaceType"`
	Namespace      []string `json:"namespace"`
	UserKeyType    string   `json:"userKeyType"`
	UserKey        string   `json:"userKey"`
	// Of length.
	Serializer    string `json:"serializer"`
	GetLength     int    `json:"getLength"`
	VariableSized bool   `json:"variableSized"`
	// Of single values.
	value
	Repeat    string `json:"repeat"`
	Times     int    `json:"times"`
	HeadHex   string `json:"headHex"`
	Length    int    `json:"length"`
	Timestamp string `json:"timestamp"`

	Hex string `json:"hex"`
}

// CompositeKeys replays composite_key.json: the bytes under which a key's state lies in an LSM store, and those of single
// values and timers.
func CompositeKeys(data []byte) (Report, error) {
	return replay(data, nil, (*compositeKeyCase).check)
}

func (c *compositeKeyCase) check() error {
	switch c.Kind {
	case "prefixBytes":
		if n := lsm.KeyGroupPrefixBytes(c.MaxParallelism); n != c.Bytes {
			return differs("the number of bytes", n, c.Bytes)
		}
		return nil
	case "length":
		return c.checkLength()
	case "String":
		if c.Repeat != "" {
			return c.checkLong()
		}
	}
	got, err := c.bytes()
	if err != nil {
		return err
	}
	if h := hex.EncodeToString(got); h != c.Hex {
		return differs("the bytes", h, c.Hex)
	}
	return nil
}

func (c *compositeKeyCase) bytes() ([]byte, error) {
	switch c.Kind {
	case "composite", "compositeUserKey":
		return c.composite()
	case "timer":
		ts, err := strconv.ParseInt(c.Timestamp, 10, 64)
		if err != nil {
			return nil, err
		}
		key, err := serialized(c.KeyType, c.Key)
		if err != nil {
			return nil, err
		}
		ns, err := c.namespace()
		return lsm.AppendTimer(nil, ts, key, ns), err
	case tupleType:
		f0, f1, err := c.tuple()
		return serde.AppendString(binary.BigEndian.AppendUint64(nil, uint64(f0)), f1), err
	case "byte[]":
		v, err := hex.DecodeString(c.Value)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(v))), v...), err
	case "String", "Long", "Integer", "Double", "Boolean":
		c.Type = c.Kind
		t, k, err := c.key()
		return serde.AppendKey(nil, t, k), err
	}
	return nil, fmt.Errorf("unknown kind %q", c.Kind)
}

// composite builds the key twice: as Flink has it, and with the state's id, which stands behind the key group.
func (c *compositeKeyCase) composite() ([]byte, error) {
	v := value{Type: c.KeyType, Value: c.Key, ValueUnits: c.KeyUnits}
	t, k, err := v.key()
	if err != nil {
		return nil, err
	}
	if group := keygroup.Assign(serde.HashKey(t, k), c.MaxParallelism); group != c.KeyGroup {
		return nil, differs("the key group", group, c.KeyGroup)
	}
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	var user []byte
	if c.Kind == "compositeUserKey" {
		if user, err = serialized(c.UserKeyType, c.UserKey); err != nil {
			return nil, err
		}
	}
	const id = 0x0102
	flink, ours := lsm.NewFlinkKey(c.PrefixBytes), lsm.NewCompositeKey(c.MaxParallelism)
	flink.SetKey(c.KeyGroup, t, k)
	ours.SetKey(c.KeyGroup, t, k)
	got, withID := flink.UserKey(0, ns, user), ours.UserKey(id, ns, user)
	want := append(append(bytes.Clone(got[:c.PrefixBytes]), id>>8, id&0xff), got[c.PrefixBytes:]...)
	if !bytes.Equal(withID, want) {
		return nil, differs("the key with a state id", hex.EncodeToString(withID), hex.EncodeToString(want))
	}
	return got, nil
}

func (c *compositeKeyCase) namespace() (lsm.Namespace, error) {
	switch {
	case c.NamespaceType == "void":
		return lsm.VoidNamespace, nil
	case c.NamespaceType == "window" && len(c.Namespace) == 2:
		start, err := serialized("Long", c.Namespace[0])
		if err != nil {
			return lsm.Namespace{}, err
		}
		end, err := serialized("Long", c.Namespace[1])
		return lsm.Namespace{Bytes: append(start, end...)}, err
	case len(c.Namespace) == 1:
		b, err := serialized(c.NamespaceType, c.Namespace[0])
		return lsm.Namespace{Bytes: b, Variable: c.NamespaceType == "String"}, err
	}
	return lsm.Namespace{}, fmt.Errorf("namespace %s %q, expected void, window with 2 values, or a type with 1", c.NamespaceType, c.Namespace)
}

func serialized(typ, text string) ([]byte, error) {
	v := value{Type: typ, Value: text}
	t, k, err := v.key()
	return serde.AppendKey(nil, t, k), err
}

// checkLong checks a string that the file gives by its repeated part.
func (c *compositeKeyCase) checkLong() error {
	const most = 1 << 20
	if c.Times < 0 || c.Times > most/len(c.Repeat) {
		return fmt.Errorf("times is %d, expected 0 to %d", c.Times, most/len(c.Repeat))
	}
	got := serde.AppendString(nil, strings.Repeat(c.Repeat, c.Times))
	if len(got) != c.Length {
		return differs("the number of bytes", len(got), c.Length)
	}
	if head := hex.EncodeToString(got[:min(16, len(got))]); head != c.HeadHex {
		return differs("the beginning", head, c.HeadHex)
	}
	return nil
}

// checkLength compares which types the engine takes for fixed-sized: the lengths that it writes decide.
func (c *compositeKeyCase) checkLength() error {
	window, text := lsm.Namespace{Bytes: make([]byte, 16)}, lsm.Namespace{Bytes: serde.AppendString(nil, "a"), Variable: true}
	fixed := map[string]int{
		"LongSerializer": len(serde.AppendKey(nil, serde.Long, serde.Key{})), "IntSerializer": len(serde.AppendKey(nil, serde.Int, serde.Key{})),
		"BooleanSerializer": len(serde.AppendKey(nil, serde.Bool, serde.Key{})), "DoubleSerializer": len(serde.AppendKey(nil, serde.Double, serde.Key{})),
		"TimeWindow.Serializer": len(window.Bytes), "TupleSerializer(LongSerializer,IntSerializer)": 8 + 4,
		// Flink says 0 and writes one byte all the same.
		"VoidNamespaceSerializer": len(lsm.VoidNamespace.Bytes) - 1,
	}
	n, ok := fixed[c.Serializer]
	if !ok {
		n = -1
	}
	if n != c.GetLength {
		return differs("the length", n, c.GetLength)
	}
	if ok == c.VariableSized {
		return differs("variable-sized", !ok, c.VariableSized)
	}
	if c.Serializer != "StringSerializer" {
		return nil
	}
	// Lengths are written only where neither key nor namespace has a fixed one.
	k := lsm.NewFlinkKey(1)
	k.SetKey(0, serde.String, serde.Key{Str: "a"})
	plain, both := len(k.Namespace(0, window))-len(window.Bytes), len(k.Namespace(0, text))-len(text.Bytes)
	if both != plain+2 {
		return differs("the bytes that two variable parts take more", both-plain, 2)
	}
	return nil
}
