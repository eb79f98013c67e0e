package state

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/golang/snappy"

	"weir/engine/serde"
)

// The canonical format: what every backend writes into savepoints, and reads. One key group stands for itself, so that
// groups can be dealt to other subtasks without a look inside:
//
//	1 byte   version, 2
//	1 byte   type of the keys: 0 long, 1 int, 2 string, 3 bool, 4 double
//	then each state that has entries in the key group, once, in any order:
//	    text    name (a text is its length in bytes as an unsigned varint, then UTF-8)
//	    1 byte  kind: 0 value, 1 list, 2 map, 3 reducing, 4 aggregating, 5 timers
//	    1 byte  flags: 1 the namespace is a window, 2 values bear a time
//	    text    name of the codec
//	    varint  bytes of each value, 0 where they differ
//	    if a map: text name of the keys' codec, varint bytes of each of the map's keys, 0 where they differ
//	    blocks of entries: varint number of entries, then those; a number of 0 ends the state
//	an entry:
//	    key: 8 bytes of a long or double, 4 of an int, 1 of a bool, all big-endian; the text of a string
//	    if windows: start and end, 8 bytes each, big-endian
//	    if a map: the map's key, led by its length as a varint where lengths differ
//	    value, led by its length as a varint where lengths differ
//
// The entries of one key and namespace of a map stand together. A value is what the state's codec writes: with a TTL led
// by 8 bytes of time in ms (Stamp), of a map led by one byte that is 1 where the value is absent (AppendNullable), of a
// list one element behind the other, of timers 8 bytes of time in ms.
//
// In a compressed key group (Compressed) the version is 3, and what stands behind the type of the keys comes in blocks:
// the length of a block as a varint, then the block, compressed by Snappy.
const (
	canonicalVersion = 2
	packedVersion    = 3
	flagWindow       = 1
	flagTTL          = 2
	// chunk is what a writer gathers before it writes.
	chunk = 1 << 20
)

// CanonicalWriter writes the canonical format.
type CanonicalWriter struct {
	ctx     context.Context
	w       io.Writer
	keyType serde.KeyType
	buf     []byte
	written int64 // before buf
	offsets []GroupOffset
	open    bool // a state with blocks of one
	inState bool
	meta    Meta
	err     error

	packed bool // buf is what the group has that is not compressed yet
	begun  bool // a block of the group is written
	block  []byte
}

type compressedKey struct{}

// Compressed has a Snapshot that is written with the context compress each key group by itself, as Flink does with
// execution.checkpointing.snapshot-compression. A restore takes either.
func Compressed(ctx context.Context) context.Context {
	return context.WithValue(ctx, compressedKey{}, true)
}

// NewCanonicalWriter writes to w, in pieces of about 1 MiB, until ctx is done.
func NewCanonicalWriter(ctx context.Context, w io.Writer, t serde.KeyType) *CanonicalWriter {
	return &CanonicalWriter{ctx: ctx, w: w, keyType: t, buf: make([]byte, 0, 64<<10), packed: ctx.Value(compressedKey{}) != nil}
}

// Group begins a key group.
func (c *CanonicalWriter) Group(group int) {
	c.endGroup()
	c.offsets = append(c.offsets, GroupOffset{KeyGroup: group, Offset: c.at()})
	if c.begun = false; c.packed {
		return
	}
	c.buf = append(c.buf, canonicalVersion, byte(c.keyType))
}

func (c *CanonicalWriter) at() int64 { return c.written + int64(len(c.buf)) }

func (c *CanonicalWriter) endGroup() {
	c.endState()
	if n := len(c.offsets); n > 0 {
		o := &c.offsets[n-1]
		if c.packed {
			if c.flush(); !c.begun {
				c.offsets = c.offsets[:n-1]
				return
			}
			o.Length = c.written - o.Offset
			return
		}
		if o.Length = c.at() - o.Offset; o.Length == headerBytes {
			// Nothing in it: as if it had not begun. Its header is always the end of buf.
			c.buf = c.buf[:len(c.buf)-headerBytes]
			c.offsets = c.offsets[:n-1]
		}
	}
}

const headerBytes = 2

// State begins a state of the group. entries is how many Entries will follow, more than 0, or -1 if that is not known.
func (c *CanonicalWriter) State(m Meta, entries int64) {
	c.endState()
	c.inState, c.open, c.meta = true, entries < 0, m
	var flags byte
	if m.Namespace == WindowNamespace {
		flags |= flagWindow
	}
	if m.TTL.Enabled() {
		flags |= flagTTL
	}
	c.buf = append(appendText(c.buf, m.Name), byte(m.Kind), flags)
	c.buf = binary.AppendUvarint(appendText(c.buf, m.Codec), uint64(m.FixedValue))
	if m.Kind == KindMap {
		c.buf = binary.AppendUvarint(appendText(c.buf, m.KeyCodec), uint64(m.FixedKey))
	}
	if entries >= 0 {
		c.buf = binary.AppendUvarint(c.buf, uint64(entries))
	}
}

func (c *CanonicalWriter) endState() {
	if c.inState {
		c.buf = append(c.buf, 0)
		c.inState = false
	}
}

// Begin begins an entry and returns the bytes so far: the caller appends the map's key and the value, with AppendSized,
// and hands the result to End.
func (c *CanonicalWriter) Begin(key serde.Key, ns Window) []byte {
	b := c.buf
	if c.open {
		b = append(b, 1)
	}
	b = appendKey(b, c.keyType, key)
	if c.meta.Namespace == WindowNamespace {
		b = binary.BigEndian.AppendUint64(b, uint64(ns.Start))
		b = binary.BigEndian.AppendUint64(b, uint64(ns.End))
	}
	return b
}

// End takes back what Begin gave. It returns the first error of the writing.
func (c *CanonicalWriter) End(b []byte) error {
	c.buf = b
	if len(b) >= chunk-chunk/16 {
		c.flush()
	}
	return c.err
}

// Entry writes an entry whose parts are bytes already. userKey is used by maps only.
func (c *CanonicalWriter) Entry(key serde.Key, ns Window, userKey, value []byte) error {
	b := c.Begin(key, ns)
	if c.meta.Kind == KindMap {
		b = appendSizedBytes(b, c.meta.FixedKey, userKey)
	}
	return c.End(appendSizedBytes(b, c.meta.FixedValue, value))
}

// Raw writes a state whose blocks of entries were read before (CanonicalReader.Raw).
func (c *CanonicalWriter) Raw(m Meta, blocks []byte) error {
	c.State(m, -1)
	c.inState = false // the blocks end it
	return c.End(append(c.buf, blocks...))
}

func (c *CanonicalWriter) flush() {
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	out := c.buf
	if c.packed {
		out = c.pack()
	}
	if c.err == nil {
		_, c.err = c.w.Write(out)
	}
	c.written += int64(len(out))
	if cap(c.buf) < chunk {
		c.buf = make([]byte, 0, chunk)
	}
	c.buf = c.buf[:0]
}

// pack is what the group has gathered as a block, behind the group's head if it is the first.
func (c *CanonicalWriter) pack() []byte {
	if len(c.buf) == 0 {
		return nil
	}
	body := snappy.Encode(c.block[:cap(c.block)], c.buf)
	c.block = body
	out := make([]byte, 0, headerBytes+binary.MaxVarintLen32+len(body))
	if !c.begun {
		out, c.begun = append(out, packedVersion, byte(c.keyType)), true
	}
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

// unpack is the body of a compressed key group.
func unpack(b []byte) ([]byte, error) {
	var body []byte
	for len(b) > 0 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, errShort
		}
		block := b[w : w+int(n)]
		b = b[w+int(n):]
		size, err := snappy.DecodedLen(block)
		if err != nil || size > 32*len(block)+64 { // a copy of 64 bytes takes two at least: no length may take all memory
			return nil, fmt.Errorf("a compressed block of %d bytes is damaged", len(block))
		}
		at := len(body)
		body = append(body, make([]byte, size)...)
		if _, err := snappy.Decode(body[at:], block); err != nil {
			return nil, fmt.Errorf("a compressed block of %d bytes is damaged: %w", len(block), err)
		}
	}
	return body, nil
}

// Finish writes what is left.
func (c *CanonicalWriter) Finish() ([]GroupOffset, error) {
	c.endGroup()
	c.flush()
	return c.offsets, c.err
}

// AppendSized appends v, led by its length where the codec's lengths differ. fixed is the Meta's.
func AppendSized[V any](b []byte, fixed int, c *Codec[V], v V) []byte {
	if fixed == 0 {
		b = binary.AppendUvarint(b, uint64(c.Bytes(v)))
	}
	return c.Append(b, v)
}

// AppendSizedNullable appends a value of a map the same way.
func AppendSizedNullable[V any](b []byte, fixed int, c *Codec[V], v V) []byte {
	if fixed == 0 {
		b = binary.AppendUvarint(b, uint64(NullableBytes(c, v)))
	}
	return AppendNullable(b, c, v)
}

func appendSizedBytes(b []byte, fixed int, v []byte) []byte {
	if fixed == 0 {
		b = binary.AppendUvarint(b, uint64(len(v)))
	}
	return append(b, v...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// CanonicalReader reads one key group:
//
//	for r.NextState() {
//		for r.NextEntry() { ... r.Key, r.Namespace, r.UserKey, r.Value ... }
//	}
//	err := r.Err()
//
// What it gives are views of the bytes.
type CanonicalReader struct {
	// Meta is that of the state; of its TTL only whether there is one is known.
	Meta Meta
	// The entry. UserKey is nil but in a map.
	Key            serde.Key
	Namespace      Window
	UserKey, Value []byte

	keyType serde.KeyType
	b       []byte
	blocks  []byte // of the state, to the end of b
	left    uint64 // entries of the block
	within  bool
	entries int64
	err     error
}

// NewCanonicalReader begins to read the bytes of one key group with keys of the type.
func NewCanonicalReader(b []byte, t serde.KeyType) *CanonicalReader {
	r := &CanonicalReader{keyType: t}
	switch {
	case len(b) < headerBytes:
		r.err = fmt.Errorf("%d bytes, expected at least %d", len(b), headerBytes)
	case b[0] != canonicalVersion && b[0] != packedVersion:
		r.err = fmt.Errorf("format version %d, expected %d or %d", b[0], canonicalVersion, packedVersion)
	case serde.KeyType(b[1]) != t:
		r.err = fmt.Errorf("keys of type %v, expected %v", serde.KeyType(b[1]), t)
	case b[0] == packedVersion:
		r.b, r.err = unpack(b[headerBytes:])
	default:
		r.b = b[headerBytes:]
	}
	return r
}

// Err is what was wrong with the bytes.
func (r *CanonicalReader) Err() error { return r.err }

// NextState goes to the next state; entries of the one before that were not read are passed over.
func (r *CanonicalReader) NextState() bool {
	for r.within && r.NextEntry() {
	}
	if r.err != nil || len(r.b) == 0 {
		return false
	}
	r.Meta = Meta{}
	r.Meta.Name = r.text()
	kind, flags := r.byte(), r.byte()
	r.Meta.Kind = Kind(kind)
	r.Meta.Codec = r.text()
	r.Meta.FixedValue = r.count()
	if r.Meta.Kind == KindMap {
		r.Meta.KeyCodec = r.text()
		r.Meta.FixedKey = r.count()
	}
	if flags&flagWindow != 0 {
		r.Meta.Namespace = WindowNamespace
	}
	if flags&flagTTL != 0 {
		r.Meta.TTL.After = 1
	}
	switch {
	case r.err != nil:
		r.err = fmt.Errorf("head of a state: %w", r.err)
	case r.Meta.Name == "":
		r.err = fmt.Errorf("a state without a name")
	case r.Meta.Kind >= numKinds || flags > flagWindow|flagTTL:
		r.err = fmt.Errorf("state %q: kind %d and flags %d, expected at most %d and %d", r.Meta.Name, kind, flags, numKinds-1, flagWindow|flagTTL)
	}
	r.within, r.left, r.entries, r.blocks = r.err == nil, 0, 0, r.b
	return r.err == nil
}

// Left is how many more entries the block says to have, but not more than there can be: a hint for who makes room.
func (r *CanonicalReader) Left() int { return int(min(r.left, uint64(len(r.b)))) }

// Raw is the bytes of all blocks of the state, once NextEntry was false.
func (r *CanonicalReader) Raw() []byte { return r.blocks[:len(r.blocks)-len(r.b)] }

// NewRawReader reads the entries of one state from its blocks.
func NewRawReader(m Meta, blocks []byte, t serde.KeyType) *CanonicalReader {
	return &CanonicalReader{Meta: m, keyType: t, b: blocks, blocks: blocks, within: true}
}

// NextEntry goes to the next entry of the state.
func (r *CanonicalReader) NextEntry() bool {
	if !r.within || r.err != nil {
		return false
	}
	if r.left == 0 {
		if r.left = r.varint(); r.err != nil {
			return r.failEntry()
		}
		if r.left == 0 {
			r.within = false
			return false
		}
	}
	r.left--
	r.entries++
	key, rest, err := readKey(r.b, r.keyType)
	if err != nil {
		r.err = err
		return r.failEntry()
	}
	r.Key, r.b = key, rest
	if r.Meta.Namespace == WindowNamespace {
		if w := r.take(16); w != nil {
			r.Namespace = Window{int64(binary.BigEndian.Uint64(w)), int64(binary.BigEndian.Uint64(w[8:]))}
		}
	} else {
		r.Namespace = Window{}
	}
	r.UserKey = nil
	if r.Meta.Kind == KindMap {
		r.UserKey = r.sized(r.Meta.FixedKey)
	}
	r.Value = r.sized(r.Meta.FixedValue)
	if r.err != nil {
		return r.failEntry()
	}
	return true
}

func (r *CanonicalReader) failEntry() bool {
	r.err = fmt.Errorf("state %q, entry %d: %w", r.Meta.Name, max(r.entries, 1), r.err)
	return false
}

func (r *CanonicalReader) sized(fixed int) []byte {
	if fixed == 0 {
		fixed = r.count()
	}
	return r.take(fixed)
}

func (r *CanonicalReader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b) {
		r.err = errShort
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *CanonicalReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *CanonicalReader) varint() uint64 {
	if r.err != nil {
		return 0
	}
	n, w := binary.Uvarint(r.b)
	if w <= 0 {
		r.err = errShort
		return 0
	}
	r.b = r.b[w:]
	return n
}

// count is a varint that counts bytes, so that what is more than there are is refused.
func (r *CanonicalReader) count() int {
	n := r.varint()
	if n > 1<<31 {
		r.err = errShort
		return 0
	}
	return int(n)
}

func (r *CanonicalReader) text() string { return string(r.take(r.count())) }
