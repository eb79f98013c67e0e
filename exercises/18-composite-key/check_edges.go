package compositekey

import (
	"bytes"
	"context"
	"math"

	"weir/engine/state/lsm"
	"weir/exercises/18-composite-key/api"
	"weir/exercises/kit"
)

// edges are where a number of bytes changes, and where a range ends with the last key group.
func edges(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	p := proxy{w.Core}
	for _, c := range []struct{ most, group, key, ns int }{{128, 127, 255, 256}, {129, 128, 256, 255}, {32768, 32767, 1, 65536}, {32768, 0, 65535, 1}} {
		if f := judgePrefix(p, c.most, lsm.KeyGroupPrefixBytes(c.most)); f != nil {
			return f
		}
		e := api.Entry{Group: c.group, State: math.MaxUint16, Key: api.Part{Bytes: bytes.Repeat([]byte{0xff}, c.key), Variable: true}, Namespace: api.Part{Bytes: bytes.Repeat([]byte{0x80}, c.ns), Variable: true}}
		b := lsm.NewCompositeKey(c.most)
		b.SetKeyBytes(e.Group, e.Key.Bytes, true)
		if f := differs(entryText(c.most, e), b.UserKey(e.State, lsm.Namespace{Bytes: e.Namespace.Bytes, Variable: true}, nil), p.Key(c.most, e), whereKey, tryKey); f != nil {
			return f
		}
		if f := judgeBounds(p, c.most, c.most-1, c.most); f != nil {
			return f
		}
		if f := judgeBounds(p, c.most, 0, c.most); f != nil {
			return f
		}
	}
	for _, at := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		if f := judgeTimer(p, at, []byte{1}, []byte{0}); f != nil {
			return f
		}
	}
	return nil
}
