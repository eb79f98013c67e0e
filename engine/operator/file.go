package operator

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
	"unsafe"

	"weir/engine/checkpoint"
	"weir/engine/input"
	"weir/engine/serde"
	"weir/engine/task"
)

// FileSource makes a record of each row of a file: its key is the row's value in the key column, its payload empty. Row
// i belongs to split i % S, S being the parallelism of the first start. A subtask reads the file once and emits the rows
// of its splits; a split's position is the row after its last emitted one. Settings.Rate limits all subtasks together.
type FileSource struct {
	_      [128]byte
	limit  limiter
	reader *input.Reader
	t      serde.KeyType
	row    int64 // of the file, the next one read
	turn   int   // row % S
	// from holds for each split the first row still to be emitted; of a split that is another subtask's, notMine.
	from     []int64
	left     int64 // rows still to be emitted
	restored bool
	_        [128]byte

	file   *input.File
	column string
	ctx    *task.Context
	err    error
}

const (
	notMine = int64(1) << 62
	// skipAtOnce is how many rows of other splits, or emitted before a restore, are passed over in one call.
	skipAtOnce = 4096
)

// NewFileSource reads the key column of a file that was found good, its keys taken as type t.
func NewFileSource(file *input.File, column string, t serde.KeyType) *FileSource {
	return &FileSource{file: file, column: column, t: t}
}

// Open opens the file and takes the subtask's split, unless Restore has.
func (f *FileSource) Open(ctx *task.Context) error {
	f.ctx = ctx
	if !f.restored {
		f.from = make([]int64, ctx.Parallelism)
		for i := range f.from {
			f.from[i] = notMine
		}
		f.from[ctx.Index] = 0
	}
	f.left = 0
	for i := range f.from {
		f.left += f.rowsLeft(i)
	}
	f.SettingsChanged()
	if f.left == 0 {
		return nil
	}
	r, err := f.file.NewReader(f.column)
	f.reader = r
	return err
}

// rowsLeft is the number of rows that split i has still to emit.
func (f *FileSource) rowsLeft(i int) int64 {
	s := int64(len(f.from))
	first := int64(i)
	if f.from[i] > first {
		first += (f.from[i] - first + s - 1) / s * s
	}
	if first >= f.file.Rows {
		return 0
	}
	return (f.file.Rows-first-1)/s + 1
}

// SettingsChanged applies the rate from the next record on.
func (f *FileSource) SettingsChanged() {
	mine := 0
	for i := range f.from {
		if f.from[i] != notMine {
			mine++
		}
	}
	if mine > 0 {
		f.limit.follow(f.ctx.Settings, float64(mine)/float64(len(f.from)))
	}
}

// Next makes a record of the next row of this subtask's splits.
func (f *FileSource) Next(r *serde.Record) (task.Status, time.Duration) {
	if f.left == 0 || f.err != nil {
		return task.End, 0
	}
	if wait, ok := f.limit.take(); !ok {
		return task.Wait, wait
	}
	for skipped := 0; ; skipped++ {
		if skipped == skipAtOnce {
			// Mail must not wait until a restored position is reached.
			f.limit.giveBack()
			return task.Wait, 0
		}
		text, err := f.reader.Next()
		if err != nil {
			if err == io.EOF {
				err = &input.Error{File: f.file.Name, Reason: fmt.Sprintf("ends after %d rows, it had %d when it was checked", f.row, f.file.Rows)}
			}
			f.err = err
			return task.End, 0
		}
		row, turn := f.row, f.turn
		f.row++
		if f.turn++; f.turn == len(f.from) {
			f.turn = 0
		}
		if row < f.from[turn] {
			continue
		}
		if f.t == serde.String {
			r.Key.Num, r.Key.Str = 0, unsafe.String(unsafe.SliceData(text), len(text))
		} else if r.Key, err = f.reader.Key(text, f.t); err != nil {
			f.err = err
			return task.End, 0
		}
		r.Payload = ""
		f.from[turn] = row + 1
		f.left--
		return task.Ready, 0
	}
}

// Err is why the file could not be read to its end.
func (f *FileSource) Err() error { return f.err }

// Pending is the number of rows that this subtask has still to emit.
func (f *FileSource) Pending() int64 { return f.left }

// A split in a checkpoint is version 1, then big-endian its index and the number of splits (4 bytes each), the first row
// still to be emitted, the rows and the decompressed bytes of the file (8 each), and the key column's name.
const (
	fileSplitVersion = 1
	fileSplitBytes   = 33
)

// Snapshot is the position of each split.
func (f *FileSource) Snapshot() *checkpoint.OperatorState {
	s := &checkpoint.OperatorState{}
	for i, from := range f.from {
		if from == notMine {
			continue
		}
		b := make([]byte, 0, fileSplitBytes+len(f.column))
		b = append(b, fileSplitVersion)
		b = binary.BigEndian.AppendUint32(b, uint32(i))
		b = binary.BigEndian.AppendUint32(b, uint32(len(f.from)))
		b = binary.BigEndian.AppendUint64(b, uint64(from))
		b = binary.BigEndian.AppendUint64(b, uint64(f.file.Rows))
		b = binary.BigEndian.AppendUint64(b, uint64(f.file.Bytes))
		s.Splits = append(s.Splits, append(b, f.column...))
	}
	return s
}

// Restore takes the splits that this subtask was dealt, which may be none; it must be called before Open on every
// subtask of a restored job. Splits of another file or column are refused.
func (f *FileSource) Restore(s *checkpoint.OperatorState) error {
	f.restored, f.from = true, nil
	if s == nil {
		return nil
	}
	for i, b := range s.Splits {
		if len(b) < fileSplitBytes || b[0] != fileSplitVersion {
			return fmt.Errorf("split %d of the file source: %d bytes, expected at least %d bytes of version %d", i, len(b), fileSplitBytes, fileSplitVersion)
		}
		index, of := binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint32(b[5:])
		from := int64(binary.BigEndian.Uint64(b[9:]))
		rows, size := int64(binary.BigEndian.Uint64(b[17:])), int64(binary.BigEndian.Uint64(b[25:]))
		column := string(b[fileSplitBytes:])
		switch {
		case column != f.column:
			return fmt.Errorf("split %d of the file source reads column %q, the job reads %q: restore with the same key", i, column, f.column)
		case rows != f.file.Rows || size != f.file.Bytes:
			return fmt.Errorf("split %d of the file source is of a file of %d rows and %d bytes, %s has %d and %d: restore with the same file",
				i, rows, size, f.file.Name, f.file.Rows, f.file.Bytes)
		case index >= of || of > 1<<16 || from < 0 || from > rows || f.from != nil && int(of) != len(f.from):
			return fmt.Errorf("split %d of the file source: number %d of %d at row %d makes no sense", i, index, of, from)
		}
		if f.from == nil {
			f.from = make([]int64, of)
			for i := range f.from {
				f.from[i] = notMine
			}
		}
		f.from[index] = from
	}
	return nil
}

// Close closes the file.
func (f *FileSource) Close() error {
	if f.reader == nil {
		return nil
	}
	r := f.reader
	f.reader = nil
	return r.Close()
}
