package operator

import (
	"math"
	"strconv"
	"unsafe"

	"weir/engine/serde"
	"weir/engine/task"
)

// FlatMap emits Settings.FanOut records for each one that comes in, with the keys that follow its key: n becomes n, n+1,
// n+2, … modulo Settings.Keys. All of them are emitted within one call, so that a large fan-out needs more buffers than
// are ready while its record lasts: first the overdraft's, then it blocks. A string key that is not a number keeps its
// name in every copy.
type FlatMap struct {
	stateless
	t      serde.KeyType
	keys   divisor
	fanOut int
	record serde.Record
	text   []byte
	ctx    *task.Context
	out    task.Output
}

// NewFlatMap makes the operator for keys of type t.
func NewFlatMap(t serde.KeyType) *FlatMap { return &FlatMap{t: t} }

// Open keeps where to emit.
func (f *FlatMap) Open(ctx *task.Context, out task.Output) error {
	f.ctx, f.out = ctx, out
	f.SettingsChanged()
	return nil
}

// SettingsChanged applies the fan-out from the next record on.
func (f *FlatMap) SettingsChanged() {
	f.fanOut = max(f.ctx.Settings.FanOut, 1)
	f.keys = newDivisor(uint64(max(f.ctx.Settings.Keys, 1)))
}

// Process emits the copies.
func (f *FlatMap) Process(r *serde.Record) error {
	n, ok := f.number(&r.Key)
	if f.fanOut == 1 {
		return f.out.Collect(r)
	}
	f.record = *r
	for i := range f.fanOut {
		if ok {
			f.key(int64(f.keys.mod(n + uint64(i))))
		}
		if err := f.out.Collect(&f.record); err != nil {
			return err
		}
	}
	return nil
}

// number is what is counted up from.
func (f *FlatMap) number(k *serde.Key) (n uint64, ok bool) {
	switch f.t {
	case serde.String:
		n, err := strconv.ParseUint(k.Str, 10, 63)
		return n, err == nil
	case serde.Double:
		v := math.Float64frombits(uint64(k.Num))
		return uint64(v), v >= 0 && v < 1<<53
	}
	return uint64(k.Num), k.Num >= 0
}

// key sets the key of the next copy.
func (f *FlatMap) key(n int64) {
	switch f.t {
	case serde.String:
		f.text = strconv.AppendInt(f.text[:0], n, 10)
		f.record.Key.Str = unsafe.String(unsafe.SliceData(f.text), len(f.text))
	case serde.Double:
		f.record.Key.Num = int64(math.Float64bits(float64(n)))
	case serde.Bool:
		f.record.Key.Num = n & 1
	default:
		f.record.Key.Num = n
	}
}
