package serde

import (
	"math/rand/v2"
	"testing"
)

// TestUnconsumed cuts a stream of records at any place, stops reading at any record, and goes on with a new deserializer:
// first with what the old one had not consumed. Every record comes once.
func TestUnconsumed(t *testing.T) {
	schema := Schema{Key: Long, Payload: true}
	var stream []byte
	const records = 40
	r := rand.New(rand.NewPCG(1, 2))
	for i := range records {
		rec := Record{Key: Key{Num: int64(i)}, Payload: string(make([]byte, r.IntN(90)))}
		b := make([]byte, MaxEncoded(schema, &rec))
		stream = append(stream, b[:PutRecord(b, schema, &rec)]...)
	}
	for range 2000 {
		d := NewDeserializer(schema)
		next, rest, stop := int64(0), stream, r.IntN(records)
		read := func(d *Deserializer, b []byte, stop int64) bool {
			d.SetBuffer(b)
			for next < stop {
				var rec Record
				kind, ok, err := d.Next(&rec)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					return false
				}
				if kind == KindRecord {
					if rec.Key.Num != next {
						t.Fatalf("record %d, expected %d", rec.Key.Num, next)
					}
					next++
				}
			}
			return true
		}
		for stopped := false; !stopped; {
			n := min(len(rest), 1+r.IntN(200))
			stopped = read(&d, rest[:n], int64(stop))
			rest = rest[n:]
		}
		again := NewDeserializer(schema)
		if kept := d.AppendUnconsumed(nil); !read(&again, kept, records) {
			read(&again, rest, records)
		}
		if next != records || again.Unfinished() != 0 {
			t.Fatalf("%d of %d records, %d bytes unfinished", next, records, again.Unfinished())
		}
	}
}
