package network

import (
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"
)

// A watermark stands in every subpartition behind the records that were written before, in the same buffers, and may begin
// in one buffer and end in the next.
func TestBroadcastElement(t *testing.T) {
	for _, segment := range []int{64, 32, 24} {
		s := &writerScript{}
		s.create(t, 2, segment, memory.PoolOptions{Required: 1, Max: 32, MaxBuffersPerSubpartition: 20}, 0, nil)
		mark := serde.AppendWatermark(nil, 12345)
		for range 3 {
			for sub := range 2 {
				if err := s.write(t, 20, sub); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.writer.BroadcastElement(mark); err != nil {
				t.Fatal(err)
			}
			for _, e := range s.ends {
				e.expected.Write(mark)
			}
		}
		if c := s.writer.Counters(); c.Records != 6 || c.Bytes != int64(6*20+6*len(mark)) {
			t.Errorf("segments of %d: counters %+v", segment, c)
		}
		if err := s.writer.Finish(); err != nil {
			t.Fatal(err)
		}
		for sub, e := range s.ends {
			var kinds []serde.Kind
			for {
				p, ok, err := e.view.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok || !p.IsData() {
					break
				}
				if got, want := string(p.Bytes), string(e.expected.Next(len(p.Bytes))); got != want {
					t.Errorf("subpartition %d: read %q, written %q", sub, got, want)
				}
				e.decoder.SetBuffer(p.Bytes)
				for {
					var r serde.Record
					k, ok, err := e.decoder.Next(&r)
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						break
					}
					kinds = append(kinds, k)
					if k == serde.KindWatermark && e.decoder.Watermark != 12345 {
						t.Errorf("watermark %d", e.decoder.Watermark)
					}
				}
				p.Recycle()
			}
			for i, k := range kinds {
				if want := []serde.Kind{serde.KindRecord, serde.KindWatermark}[i%2]; k != want || len(kinds) != 6 {
					t.Errorf("segments of %d, subpartition %d: %v", segment, sub, kinds)
					break
				}
			}
		}
		s.part.Release()
	}
}
