package serde

import (
	"strings"
	"testing"
)

const benchBuffer = 32 << 10

var (
	tuple    = Schema{Key: Long, Payload: true}
	payloads = map[string]string{
		"ascii100": strings.Repeat("0123456789", 10),
		"mixed100": strings.Repeat("01234用户89", 10),
	}
)

// BenchmarkPutRecord writes Tuple2<Long, String> records into a segment, as a record writer does.
func BenchmarkPutRecord(b *testing.B) {
	for name, payload := range payloads {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, benchBuffer)
			r := Record{Payload: payload}
			pos := 0
			for i := range b.N {
				r.Key.Num = int64(i)
				if len(buf)-pos < MaxEncoded(tuple, &r) {
					pos = 0
				}
				pos += PutRecord(buf[pos:], tuple, &r)
			}
		})
	}
}

// BenchmarkDeserializer reads them back, buffer after buffer, with the records that span two.
func BenchmarkDeserializer(b *testing.B) {
	for name, payload := range payloads {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var stream []byte
			r := Record{Payload: payload}
			records := 0
			for len(stream) < 4*benchBuffer {
				r.Key.Num = int64(records)
				stream = AppendRecord(stream, tuple, &r)
				records++
			}
			d := NewDeserializer(tuple)
			var sum int64
			b.ResetTimer()
			for n := 0; n < b.N; n += records {
				for rest := stream; len(rest) > 0; {
					m := min(benchBuffer, len(rest))
					d.SetBuffer(rest[:m])
					rest = rest[m:]
					for {
						_, ok, err := d.Next(&r)
						if err != nil {
							b.Fatal(err)
						}
						if !ok {
							break
						}
						sum += r.Key.Num + int64(len(r.Payload))
					}
				}
			}
			benchSink = sum
		})
	}
}

var benchSink int64
