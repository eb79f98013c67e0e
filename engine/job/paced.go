package job

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
)

// paceNap bounds how long a paced write waits at a time, so that a checkpoint that is given up, and a limit that is changed,
// are noticed soon.
const paceNap = 50 * time.Millisecond

// pacedStream writes no faster than the settings say: the asynchronous phase of a small state then takes as long as that of
// a large one, and what the task does meanwhile can be seen.
func (s *shared) pacedStream(ctx context.Context, write func(io.Writer) ([]checkpoint.KeyGroupOffset, error)) func(io.Writer) ([]checkpoint.KeyGroupOffset, error) {
	return func(w io.Writer) ([]checkpoint.KeyGroupOffset, error) {
		if s.bytesPerSecond.Load() > 0 {
			w = &paced{ctx: ctx, w: w, rate: &s.bytesPerSecond}
		}
		return write(w)
	}
}

// paced is a writer with a limit of bytes a second.
type paced struct {
	ctx  context.Context
	w    io.Writer
	rate *atomic.Int64
}

// Write waits for as long as the bytes take, and then writes them.
func (p *paced) Write(b []byte) (int, error) {
	for written := 0; ; {
		rate := p.rate.Load()
		n := len(b) - written
		if rate > 0 {
			n = min(n, max(1, int(rate*int64(paceNap)/int64(time.Second))))
			timer := time.NewTimer(time.Duration(int64(n) * int64(time.Second) / rate))
			select {
			case <-timer.C:
			case <-p.ctx.Done():
				timer.Stop()
				return written, p.ctx.Err()
			}
		}
		m, err := p.w.Write(b[written : written+n])
		if written += m; err != nil || written == len(b) {
			return written, err
		}
	}
}
