package checkpoint

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
)

// A state file holds the state of one subtask:
//
//	"WEIRSTAT" | version u16 | operators u32
//	  each: name length u16, name | splits u32, each: length u32, bytes | key groups u32, each: group u32, length u32, bytes
//	    in version 3 also: named states u32, each as in writeNamed | incremental states u32, each as in writeIncremental
//	input channels u32, then output subpartitions u32 (both from version 2 on, that of a state with data in flight)
//	  each: index u32 | buffers u32, each: length u32, bytes
//	CRC-32C of all before it u32
//
// Version 4 is that of keyed state which is written as it is read from its backend: behind the version stand the bytes of
// all such key groups, then the above, where each operator also has, at its end, streamed key groups u32, each: group u32,
// offset u64 from the beginning of the file, length u64; and before the CRC the offset u64 at which the operators begin.
//
// Numbers are big-endian. The metadata keeps the length and the checksum too, so that a torn file is found before it is
// read.
const (
	stateMagic   = "WEIRSTAT"
	stateVersion = 4
	// maxStateFile bounds what a restore reads into memory for one subtask.
	maxStateFile = 16 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stateWriter counts and sums what goes to the file.
type stateWriter struct {
	w   *bufio.Writer
	sum hash.Hash32
	n   int64
	err error
	tmp [4]byte
}

func (w *stateWriter) bytes(b []byte) {
	if w.err != nil {
		return
	}
	w.sum.Write(b)
	w.n += int64(len(b))
	_, w.err = w.w.Write(b)
}

func (w *stateWriter) u32(v int) {
	binary.BigEndian.PutUint32(w.tmp[:], uint32(v))
	w.bytes(w.tmp[:])
}

func (w *stateWriter) chunk(b []byte) {
	if len(b) > 1<<31-1 && w.err == nil {
		w.err = fmt.Errorf("one piece of state has %d bytes, expected at most 2147483647", len(b))
	}
	w.u32(len(b))
	w.bytes(b)
}

func (w *stateWriter) channels(list []ChannelState) {
	w.u32(len(list))
	for _, c := range list {
		w.u32(c.Channel)
		w.u32(len(c.Buffers))
		for _, b := range c.Buffers {
			w.chunk(b)
		}
	}
}

// writeState writes s and returns the length and the checksum of what it wrote, trailer included and excluded.
func writeState(to io.Writer, s *TaskState) (n int64, checksum uint32, err error) {
	w := &stateWriter{w: bufio.NewWriterSize(to, 64<<10), sum: crc32.New(castagnoli)}
	w.bytes([]byte(stateMagic))
	version := byte(1)
	if len(s.Inputs)+len(s.Outputs) > 0 {
		version = 2
	}
	for _, op := range s.Operators {
		if op != nil && len(op.Named)+len(op.Incremental) > 0 {
			version = 3
		}
	}
	for _, op := range s.Operators {
		if op != nil && op.Stream != nil {
			version = 4
		}
	}
	w.bytes([]byte{0, version})
	names := make([]string, 0, len(s.Operators))
	for name := range s.Operators {
		names = append(names, name)
	}
	slices.Sort(names)
	streamed := map[string][]KeyGroupOffset{}
	if version >= 4 {
		for _, name := range names {
			if op := s.Operators[name]; op != nil && op.Stream != nil {
				if streamed[name], err = w.stream(op.Stream); err != nil {
					return 0, 0, err
				}
			}
		}
	}
	operators := w.n
	w.u32(len(names))
	for _, name := range names {
		if len(name) > 1<<16-1 {
			return 0, 0, fmt.Errorf("operator name of %d bytes, expected at most 65535", len(name))
		}
		w.bytes(binary.BigEndian.AppendUint16(nil, uint16(len(name))))
		w.bytes([]byte(name))
		op := s.Operators[name]
		if op == nil {
			op = &OperatorState{}
		}
		w.u32(len(op.Splits))
		for _, b := range op.Splits {
			w.chunk(b)
		}
		w.u32(len(op.Keyed))
		for _, g := range op.Keyed {
			w.u32(g.KeyGroup)
			w.chunk(g.Data)
		}
		if version >= 3 {
			w.named(op.Named)
			w.incremental(op.Incremental)
		}
		if version >= 4 {
			w.u32(len(streamed[name]))
			for _, o := range streamed[name] {
				w.u32(o.KeyGroup)
				w.u64(o.Offset)
				w.u64(o.Length)
			}
		}
	}
	if version >= 2 {
		w.channels(s.Inputs)
		w.channels(s.Outputs)
	}
	if version >= 4 {
		w.u64(operators)
	}
	checksum = w.sum.Sum32()
	w.u32(int(checksum))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.n, checksum, w.err
}

// stream has keyed state written into the file, and answers where its key groups stand there.
func (w *stateWriter) stream(write func(io.Writer) ([]KeyGroupOffset, error)) ([]KeyGroupOffset, error) {
	begin := w.n
	offsets, err := write(w)
	if err == nil {
		err = w.err
	}
	if err != nil {
		return nil, err
	}
	out := slices.Clone(offsets)
	for i := range out {
		out[i].Offset += begin
	}
	return out, nil
}

// Write implements io.Writer.
func (w *stateWriter) Write(b []byte) (int, error) {
	w.bytes(b)
	if w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

// stateReader walks the bytes of a state file; after the first fault it answers zeros.
type stateReader struct {
	b   []byte
	err error
}

func (r *stateReader) take(n int, what string) []byte {
	if r.err == nil && (n < 0 || n > len(r.b)) {
		r.err = fmt.Errorf("ends inside %s: %d bytes expected, %d left", what, n, len(r.b))
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *stateReader) u32(what string) int {
	if b := r.take(4, what); b != nil {
		return int(binary.BigEndian.Uint32(b))
	}
	return 0
}

// count reads a number of entries that have at least size bytes each, so that a damaged count allocates nothing.
func (r *stateReader) count(size int, what string) int {
	n := r.u32(what)
	if r.err == nil && n > len(r.b)/size {
		r.err = fmt.Errorf("%d %s cannot be in the %d bytes that are left", n, what, len(r.b))
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *stateReader) channels(what string) []ChannelState {
	var list []ChannelState
	for range r.count(8, what) {
		c := ChannelState{Channel: r.u32(what)}
		if n := r.count(4, "buffers"); n > 0 {
			c.Buffers = make([][]byte, n)
			for i := range c.Buffers {
				c.Buffers[i] = r.take(r.u32("a buffer"), "a buffer")
			}
		}
		list = append(list, c)
	}
	return list
}

// parseState reads a state file. The result's slices are views of b.
func parseState(b []byte) (*TaskState, error) {
	head := len(stateMagic) + 2
	if len(b) < head || string(b[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("not a state file: expected it to begin with %q", stateMagic)
	}
	version := binary.BigEndian.Uint16(b[len(stateMagic):])
	if version < 1 || version > stateVersion {
		return nil, fmt.Errorf("state file of version %d, expected version 1 to %d", version, stateVersion)
	}
	if len(b) < head+8 {
		return nil, fmt.Errorf("truncated: %d bytes, expected at least %d", len(b), head+8)
	}
	body := b[:len(b)-4]
	if want, have := binary.BigEndian.Uint32(b[len(b)-4:]), crc32.Checksum(body, castagnoli); want != have {
		return nil, fmt.Errorf("damaged: checksum %08x, expected %08x", have, want)
	}
	r := &stateReader{b: body[head:]}
	if version >= 4 {
		at := int64(-1)
		if len(body) >= head+8 {
			at = int64(binary.BigEndian.Uint64(body[len(body)-8:]))
		}
		if at < int64(head) || at > int64(len(body)-8) {
			return nil, fmt.Errorf("operators at byte %d, expected %d to %d", at, head, len(body)-8)
		}
		r.b = body[at : len(body)-8]
	}
	s := &TaskState{Operators: map[string]*OperatorState{}}
	for range r.count(10, "operators") {
		op := &OperatorState{}
		var name string
		if l := r.take(2, "an operator's name"); l != nil {
			name = string(r.take(int(binary.BigEndian.Uint16(l)), "an operator's name"))
		}
		if n := r.count(4, "splits"); n > 0 {
			op.Splits = make([][]byte, n)
			for i := range op.Splits {
				op.Splits[i] = r.take(r.u32("a split"), "a split")
			}
		}
		if n := r.count(8, "key groups"); n > 0 {
			op.Keyed = make([]KeyGroupState, n)
			for i := range op.Keyed {
				g := r.u32("a key group")
				op.Keyed[i] = KeyGroupState{KeyGroup: g, Data: r.take(r.u32("a key group"), "a key group")}
			}
		}
		if version >= 3 {
			op.Named = r.named()
			op.Incremental = r.incremental()
		}
		if version >= 4 {
			op.Keyed = append(op.Keyed, r.streamed(body)...)
		}
		if r.err != nil {
			return nil, r.err
		}
		if s.Operators[name] != nil {
			return nil, fmt.Errorf("operator %q is there twice", name)
		}
		s.Operators[name] = op
	}
	if version >= 2 {
		s.Inputs = r.channels("input channels")
		s.Outputs = r.channels("output subpartitions")
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes too many at the end", len(r.b))
	}
	return s, r.err
}

// streamed reads the places of key groups in the file.
func (r *stateReader) streamed(file []byte) []KeyGroupState {
	n := r.count(20, "streamed key groups")
	if n == 0 {
		return nil
	}
	out := make([]KeyGroupState, n)
	for i := range out {
		out[i].KeyGroup = r.u32("a key group")
		offset, length := r.u64("a key group's offset"), r.u64("a key group's length")
		if r.err == nil && (offset < 0 || length < 0 || offset > int64(len(file)) || length > int64(len(file))-offset) {
			r.err = fmt.Errorf("key group %d at byte %d with %d bytes, expected it inside the %d bytes of the file", out[i].KeyGroup, offset, length, len(file))
		}
		if r.err != nil {
			return nil
		}
		out[i].Data = file[offset : offset+length : offset+length]
	}
	return out
}

// stateChecksum is the checksum in the trailer of a state file that parseState accepted.
func stateChecksum(b []byte) uint32 { return binary.BigEndian.Uint32(b[len(b)-4:]) }
