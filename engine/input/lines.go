package input

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"
)

// lines cuts a stream into lines. A line is a view of the buffer and lives until the next call.
type lines struct {
	name       string
	r          *stream
	buf        []byte
	start, end int
	eof        bool
	number     int64 // of the line returned last
}

func newLines(name string, r *stream) *lines {
	return &lines{name: name, r: r, buf: make([]byte, 64<<10)}
}

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// next returns the next line without its end ("\n" or "\r\n"), and io.EOF after the last. Its text is valid UTF-8
// without NUL.
func (l *lines) next() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+searched+i]
			l.start += searched + i + 1
			return l.checked(line)
		}
		searched = l.end - l.start
		if searched > MaxLine {
			l.number++
			return nil, l.fail("is longer than %d bytes", MaxLine)
		}
		if l.eof {
			if searched == 0 {
				return nil, io.EOF
			}
			line := l.buf[l.start:l.end]
			l.start = l.end
			return l.checked(line)
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

func (l *lines) checked(line []byte) ([]byte, error) {
	l.number++
	if l.number == 1 {
		line = bytes.TrimPrefix(line, utf8BOM)
	}
	if len(line) > MaxLine {
		return nil, l.fail("is longer than %d bytes", MaxLine)
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return nil, l.fail("holds a NUL byte: the file is binary, not CSV or NDJSON text")
	}
	if !utf8.Valid(line) {
		if l.number == 1 && !mostlyText(line) {
			return nil, l.fail(notText)
		}
		at := 0
		for b := line; len(b) > 0; {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
			b = b[n:]
		}
		return nil, l.fail("byte %d (0x%02X) is not valid UTF-8; save the file as UTF-8", at+1, line[at])
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

const notText = "the file is binary, not CSV or NDJSON text"

// mostlyText tells text in some other encoding from something that is no text at all.
func mostlyText(b []byte) bool {
	control := 0
	for _, c := range b {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' {
			control++
		}
	}
	return control*20 <= len(b)
}

// fill reads more behind what is buffered, moving it to the front or growing the buffer as needed.
func (l *lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	switch {
	case err == nil:
		return nil
	case err == io.EOF:
		l.eof = true
		return nil
	}
	return &Error{File: l.name, Line: l.number + 1, Reason: readReason(err)}
}

func (l *lines) fail(format string, args ...any) error {
	return &Error{File: l.name, Line: l.number, Reason: fmt.Sprintf(format, args...)}
}

// readReason puts an error of reading in words that tell what to do.
func readReason(err error) string {
	var corrupt flate.CorruptInputError
	var path *fs.PathError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the gzip data is cut off here; copy the file again"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return "the gzip data is damaged here (" + err.Error() + ")"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read: permission denied"
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}
