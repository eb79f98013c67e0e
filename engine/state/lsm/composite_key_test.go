package lsm

import (
	"testing"

	"weir/engine/serde"
)

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
