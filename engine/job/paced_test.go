package job

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestPacedWriter takes as long as the limit says, and ends with its checkpoint.
func TestPacedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rate atomic.Int64
		rate.Store(100_000)
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(context.Background())
		p := &paced{ctx: ctx, w: &out, rate: &rate}
		began := time.Now()
		data := bytes.Repeat([]byte("weir"), 50_000)
		if n, err := p.Write(data); n != len(data) || err != nil || !bytes.Equal(out.Bytes(), data) {
			t.Fatal(n, err)
		}
		if took := time.Since(began); took < 1990*time.Millisecond || took > 2010*time.Millisecond {
			t.Errorf("200,000 bytes at 100,000 a second took %v", took)
		}
		time.AfterFunc(time.Second, cancel)
		if n, err := p.Write(data); !errors.Is(err, context.Canceled) || n < 90_000 || n > 110_000 {
			t.Errorf("given up after a second: %d bytes, %v", n, err)
		}
	})
}
