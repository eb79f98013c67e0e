package lsm

import (
	"encoding/hex"

	"weir/engine/serde"
	"weir/engine/trace"
)

// traceKey tells of a key that was built: its bytes, and what they are made of. userKey is that of a map's entry.
func (s *store) traceKey(key, userKey []byte) {
	t := s.b.o.Tracer
	if !t.On(trace.CompositeKeyBuilt) {
		return
	}
	ctx := s.b.ctx
	fields := []trace.Field{trace.Str("bytes", hex.EncodeToString(key)), trace.Int("length", len(key)), trace.Int("keyGroup", ctx.Group()),
		trace.Str("state", s.meta.Name), trace.Int("stateId", int(s.id)), trace.Str("key", serde.FormatKey(ctx.KeyType(), ctx.Key()))}
	if userKey != nil {
		fields = append(fields, trace.Str("userKey", hex.EncodeToString(userKey)))
	}
	t.Hit(trace.CompositeKeyBuilt, s.b.o.Thread, fields...)
}

// traceValue tells of a value that was asked for.
func (s *store) traceValue(key []byte, found bool, size int) {
	t := s.b.o.Tracer
	if !t.On(trace.ValueRead) {
		return
	}
	there := 0
	if found {
		there = 1
	}
	t.Hit(trace.ValueRead, s.b.o.Thread, trace.Str("bytes", hex.EncodeToString(key)), trace.Str("state", s.meta.Name),
		trace.Int("keyGroup", s.b.ctx.Group()), trace.Int("found", there), trace.Int("valueBytes", size))
}

// traceRead tells of the key of a read and of what came of it.
func (s *store) traceRead(key []byte, found bool, size int) {
	s.traceKey(key, nil)
	s.traceValue(key, found, size)
}

// traceCheckpoint tells of the hard links that a checkpoint's sync phase made.
func (s *FilesSnapshot) traceCheckpoint() {
	o := &s.b.o
	if !o.Tracer.On(trace.NativeCheckpoint) {
		return
	}
	var n, tables int64
	for i := range s.files {
		n += s.files[i].bytes
		if s.files[i].shared {
			tables++
		}
	}
	o.Tracer.Hit(trace.NativeCheckpoint, o.Thread, trace.Int("checkpoint", s.id), trace.Int("files", len(s.files)), trace.Int("tables", tables), trace.Int("bytes", n))
}

// traceUpload tells of each file what became of it. The goroutine of the async phase is named after its task and checkpoint.
func (s *FilesSnapshot) traceUpload(u *Upload) {
	o := &s.b.o
	for i := range u.Files {
		f := &u.Files[i]
		p := trace.SSTUploaded
		if f.State == Reused {
			p = trace.SSTReused
		}
		if o.Tracer.On(p) {
			o.Tracer.Hit(p, s.thread(), trace.Int("checkpoint", s.id), trace.Str("name", f.Name), trace.Int("bytes", f.Bytes), trace.Str("file", f.File),
				trace.Str("how", string(f.State)), trace.Int("firstCheckpoint", f.FirstCheckpoint))
		}
	}
}

// traceClip tells of key groups [from, to) that were cut off the files of a handle.
func (r *restore) traceClip(i, from, to int) {
	if t := r.o.Tracer; t.On(trace.Clipped) {
		held := r.from.States[i].KeyGroups
		t.Hit(trace.Clipped, r.o.Thread, trace.Int("from", from), trace.Int("to", to), trace.Int("handleFrom", held.First), trace.Int("handleTo", held.Last+1))
	}
}
