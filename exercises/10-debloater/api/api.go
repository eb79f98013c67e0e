// Package api is what the exercise asks for: the debloater of one input gate.
package api

import "weir/exercises/kit/wire"

// Config is what a debloater is made with. Sizes are in bytes.
type Config struct {
	TargetMs         int64 // how long the buffers in flight should take to consume
	Start            int   // the first size, which counts as announced
	Min, Max         int   // limits of a size
	ThresholdPercent int   // of the last announced size: a smaller change is not announced
	Samples          int   // of the moving average
}

// Debloater sizes the buffers of one gate, as Flink's BufferDebloater with its BufferSizeEMA does.
type Debloater interface {
	// Begin is called once, before all others.
	Begin(c Config)
	// Recalculate is called each period with the throughput in bytes/s and the number of buffers in use. It answers the
	// size of a buffer from now on, and whether it is to be announced; if not, the size is the one last announced.
	Recalculate(throughput int64, buffersInUse int) (size int, announce bool)
	// EstimateMs is how long the buffers in use take to consume, as of the last Recalculate.
	EstimateMs() int64
}

// The calls.
const (
	Begin       = 1 // number of the debloater, its configuration
	Recalculate = 2 // number, throughput, buffers in use → size, announce, estimate
)

// Dispatch answers calls with debloaters that it makes, one for each number.
func Dispatch(newDebloater func() Debloater) func(method uint32, args []byte) []byte {
	all := map[int64]Debloater{}
	return func(method uint32, args []byte) []byte {
		r := wire.Reader{B: args}
		var w wire.Writer
		number := r.Int()
		switch method {
		case Begin:
			d := newDebloater()
			d.Begin(Config{
				TargetMs: r.Int(), Start: int(r.Int()), Min: int(r.Int()), Max: int(r.Int()),
				ThresholdPercent: int(r.Int()), Samples: int(r.Int()),
			})
			all[number] = d
		case Recalculate:
			d := all[number]
			size, announce := d.Recalculate(r.Int(), int(r.Int()))
			w.Int(int64(size))
			w.Bool(announce)
			w.Int(d.EstimateMs())
		}
		return w.B
	}
}
