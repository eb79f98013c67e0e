package lsm

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"weir/engine/internal/wtf8"
	"weir/engine/keygroup"
	"weir/engine/serde"
)

type goldenKey struct {
	Kind           string   `json:"kind"`
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
	Serializer     string   `json:"serializer"`
	GetLength      int      `json:"getLength"`
	VariableSized  bool     `json:"variableSized"`
	Value          string   `json:"value"`
	ValueUnits     []uint16 `json:"value_utf16"`
	Repeat         string   `json:"repeat"`
	Times          int      `json:"times"`
	HeadHex        string   `json:"headHex"`
	Length         int      `json:"length"`
	F0             string   `json:"f0"`
	F1             string   `json:"f1"`
	F1Units        []uint16 `json:"f1_utf16"`
	Timestamp      string   `json:"timestamp"`
	Hex            string   `json:"hex"`
}

var goldenTypes = map[string]serde.KeyType{"Long": serde.Long, "Integer": serde.Int, "String": serde.String, "Boolean": serde.Bool, "Double": serde.Double}

func text(s string, units []uint16) string {
	if units != nil {
		return wtf8.FromUnits(units)
	}
	return s
}

func (g *goldenKey) serialize(t *testing.T, typ, value string) []byte {
	t.Helper()
	kt, ok := goldenTypes[typ]
	if !ok {
		t.Fatalf("type %q", typ)
	}
	k, err := serde.ParseKey(kt, value)
	if err != nil {
		t.Fatal(err)
	}
	return serde.AppendKey(nil, kt, k)
}

func (g *goldenKey) namespace(t *testing.T) Namespace {
	switch g.NamespaceType {
	case "void":
		return VoidNamespace
	case "window":
		return Namespace{Bytes: append(g.serialize(t, "Long", g.Namespace[0]), g.serialize(t, "Long", g.Namespace[1])...)}
	}
	return Namespace{Bytes: g.serialize(t, g.NamespaceType, g.Namespace[0]), Variable: g.NamespaceType == "String"}
}

// Every case of golden composite_key.json.
func TestGoldenCompositeKey(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/golden/composite_key.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, raw := range file.Cases {
		var g goldenKey
		if err := json.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		seen[g.Kind]++
		var got []byte
		switch g.Kind {
		case "prefixBytes":
			if n := KeyGroupPrefixBytes(g.MaxParallelism); n != g.Bytes {
				t.Errorf("case %d: %d bytes, expected %d: %s", i, n, g.Bytes, raw)
			}
			continue
		case "length":
			checkLength(t, i, &g)
			continue
		case "composite", "compositeUserKey":
			kt := goldenTypes[g.KeyType]
			k, err := serde.ParseKey(kt, text(g.Key, g.KeyUnits))
			if err != nil {
				t.Fatal(err)
			}
			if group := keygroup.Assign(serde.HashKey(kt, k), g.MaxParallelism); group != g.KeyGroup {
				t.Errorf("case %d: key group %d, expected %d", i, group, g.KeyGroup)
			}
			flink, ours := NewFlinkKey(g.PrefixBytes), NewCompositeKey(g.MaxParallelism)
			flink.SetKey(g.KeyGroup, kt, k)
			ours.SetKey(g.KeyGroup, kt, k)
			ns := g.namespace(t)
			var withID []byte
			if g.Kind == "composite" {
				got, withID = flink.Namespace(0, ns), ours.Namespace(0x0102, ns)
			} else {
				user := g.serialize(t, g.UserKeyType, g.UserKey)
				got, withID = flink.UserKey(0, ns, user), ours.UserKey(0x0102, ns, user)
			}
			// Ours is Flink's with the state id behind the key group.
			want := append(append(append([]byte(nil), got[:g.PrefixBytes]...), 1, 2), got[g.PrefixBytes:]...)
			if string(withID) != string(want) {
				t.Errorf("case %d: with state id %x, expected %x", i, withID, want)
			}
		case "timer":
			ts, err := strconv.ParseInt(g.Timestamp, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			got = AppendTimer(nil, ts, g.serialize(t, g.KeyType, g.Key), g.namespace(t))
		case "Tuple2<Long,String>":
			got = serde.AppendString(g.serialize(t, "Long", g.F0), text(g.F1, g.F1Units))
		case "byte[]":
			v, err := hex.DecodeString(g.Value)
			if err != nil {
				t.Fatal(err)
			}
			got = append(binary.BigEndian.AppendUint32(nil, uint32(len(v))), v...)
		case "String":
			if g.Repeat != "" {
				got = serde.AppendString(nil, strings.Repeat(g.Repeat, g.Times))
				if len(got) != g.Length || hex.EncodeToString(got[:16]) != g.HeadHex {
					t.Errorf("case %d: %d bytes that begin with %x, expected %d with %s", i, len(got), got[:16], g.Length, g.HeadHex)
				}
				continue
			}
			got = serde.AppendString(nil, text(g.Value, g.ValueUnits))
		default:
			got = g.serialize(t, g.Kind, g.Value)
		}
		if hex.EncodeToString(got) != g.Hex {
			t.Errorf("case %d: %x, expected %s: %s", i, got, g.Hex, raw)
		}
	}
	if len(file.Cases) != 579 || seen["composite"] != 216 || seen["compositeUserKey"] != 216 {
		t.Errorf("%d cases: %v", len(file.Cases), seen)
	}
}

// checkLength compares what the engine takes for fixed-sized.
func checkLength(t *testing.T, i int, g *goldenKey) {
	fixed := map[string]int{"LongSerializer": 8, "IntSerializer": 4, "BooleanSerializer": 1, "DoubleSerializer": 8,
		"TimeWindow.Serializer": 16, "TupleSerializer(LongSerializer,IntSerializer)": 12,
		// Flink says 0 and writes one byte all the same.
		"VoidNamespaceSerializer": len(VoidNamespace.Bytes) - 1}
	n, ok := fixed[g.Serializer]
	if ok == g.VariableSized || ok && n != g.GetLength {
		t.Errorf("case %d: %s: %d, %v, expected %d", i, g.Serializer, n, ok, g.GetLength)
	}
}

// A prefix built once serves every state and namespace, in any order.
func TestCompositeKeyPrefixIsBuiltOnce(t *testing.T) {
	c := NewCompositeKey(300)
	c.SetKey(258, serde.String, serde.Key{Str: "ab"})
	long := Namespace{Bytes: []byte("\x04xyz"), Variable: true}
	for range 2 {
		if got := string(c.Namespace(7, VoidNamespace)); got != "\x01\x02\x00\x07\x03ab\x00" {
			t.Errorf("%q", got)
		}
		if got := string(c.UserKey(0x1234, long, []byte("u"))); got != "\x01\x02\x12\x34\x03ab\x03\x04xyz\x04u" {
			t.Errorf("%q", got)
		}
		if got := string(c.Namespace(8, Namespace{Bytes: []byte("12345678")})); got != "\x01\x02\x00\x08\x03ab12345678" {
			t.Errorf("%q", got)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		c.SetKey(258, serde.Long, serde.Key{Num: 5})
		c.Namespace(7, VoidNamespace)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
