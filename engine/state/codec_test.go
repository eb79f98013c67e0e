package state_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"

	"weir/engine/state"
)

// holds checks a codec on a value: the bytes that Flink's serializer writes, their number, reading and copying.
func holds[V any](t *testing.T, c state.Codec[V], v V, want string) {
	t.Helper()
	b := c.Append([]byte{0xAA}, v)
	if got := hex.EncodeToString(b[1:]); b[0] != 0xAA || got != want {
		t.Errorf("%s %v: %s, want %s", c.Name, v, got, want)
	}
	if n := c.Bytes(v); n != len(b)-1 {
		t.Errorf("%s %v: %d bytes told, %d written", c.Name, v, n, len(b)-1)
	}
	got, rest, err := c.Read(append(b[1:len(b):len(b)], 7))
	if strings.HasPrefix(c.Name, "elements") {
		return
	}
	if err != nil || !reflect.DeepEqual(got, v) || len(rest) != 1 {
		t.Errorf("%s %v: read %v, %v with %d bytes left", c.Name, v, got, err, len(rest))
	}
	if w := c.Clone(v); !reflect.DeepEqual(w, v) {
		t.Errorf("%s %v: copied as %v", c.Name, v, w)
	}
	for n := 1; n < len(b); n++ {
		if _, _, err := c.Read(b[1:n]); err == nil {
			t.Errorf("%s %v: read of %d of %d bytes", c.Name, v, n-1, len(b)-1)
		}
	}
}

func TestCodecs(t *testing.T) {
	holds(t, state.Int64(), -2, "fffffffffffffffe")
	holds(t, state.Double(), math.Pi, "400921fb54442d18")
	holds(t, state.Bool(), true, "01")
	holds(t, state.String(), "uk", "03756b")
	holds(t, state.String(), "维度", "03f4fd01a6bd01")
	holds(t, state.ByteArray(), []byte{1, 2}, "000000020102")
	holds(t, state.List(state.Bool()), []bool{true, false}, "000000020100")
	holds(t, state.Map(state.String(), state.Int64()), map[string]int64{"a": 1}, "000000010261000000000000000001")
	holds(t, state.Map(state.Bool(), state.Pointer(state.Bool())), map[bool]*bool{true: nil}, "000000010101")
	holds(t, state.StampedCodec(state.Bool()), state.Stamped[bool]{At: 5, Value: true}, "000000000000000501")
	holds(t, state.StampedMapValue(state.Pointer(state.Bool())), state.Stamped[*bool]{At: 5}, "000000000000000501")

	e := state.Elements(state.String())
	b := e.Append(nil, []string{"a", "bc"})
	if got, _, err := e.Read(b); err != nil || !reflect.DeepEqual(got, []string{"a", "bc"}) || e.Bytes(got) != len(b) {
		t.Errorf("elements: %q, %v", got, err)
	}
	if _, _, err := e.Read(b[:len(b)-1]); err == nil || !strings.Contains(err.Error(), "element 2") {
		t.Errorf("elements cut: %v", err)
	}
	if _, _, err := state.List(state.Int64()).Read([]byte{0xff, 0xff, 0xff, 0xff}); err == nil {
		t.Error("a negative length was read")
	}
}

func TestExpired(t *testing.T) {
	for _, c := range []struct {
		at, ttl, now int64
		want         bool
	}{{100, 10, 109, false}, {100, 10, 110, true}, {math.MaxInt64 - 5, 10, math.MaxInt64, false}, {-100, 50, -51, false}, {-100, 50, -50, true}} {
		if got := state.Expired(c.at, c.ttl, c.now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
