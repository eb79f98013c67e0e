package input

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// content is where a file's bytes come from: a path, or memory for the built-in sample.
type content func() (io.ReadCloser, error)

// stream is the decompressed content of a file from its beginning.
type stream struct {
	closer io.Closer
	raw    *countingReader
	text   io.Reader
	gzip   bool
	read   int64 // decompressed bytes handed out
	limit  int64 // of decompressed bytes; 0 is none
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

var (
	errBomb    = fmt.Errorf("expands to more than %d times its compressed size, which looks like a decompression bomb", MaxRatio)
	errTooLong = errors.New("is larger than allowed")
)

// openStream opens the content and looks at its first bytes, not at its name, to tell whether it is compressed.
func openStream(open content, limit int64) (*stream, error) {
	c, err := open()
	if err != nil {
		return nil, err
	}
	s := &stream{closer: c, raw: &countingReader{r: c}, limit: limit}
	b := bufio.NewReaderSize(s.raw, 64<<10)
	s.text = b
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		c.Close()
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		z, err := gzip.NewReader(b)
		if err != nil {
			c.Close()
			return nil, err
		}
		s.gzip, s.text = true, z
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		err = errors.New("is a zip archive; unpack it, or compress the file with gzip")
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		err = errors.New("is compressed with zstd; unpack it, or compress the file with gzip")
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) == 4 && head[3] >= '1' && head[3] <= '9':
		err = errors.New("is compressed with bzip2; unpack it, or compress the file with gzip")
	case bytes.HasPrefix(head, []byte("\xFD7zX")):
		err = errors.New("is compressed with xz; unpack it, or compress the file with gzip")
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		err = errors.New("is UTF-16; save it as UTF-8")
	default:
		err = nil
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return s, nil
}

// Read hands out decompressed bytes, up to the limits.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	s.read += int64(n)
	if s.gzip && s.read > ratioFrom && s.read/MaxRatio > s.raw.n {
		return 0, errBomb
	}
	if s.limit > 0 && s.read > s.limit {
		return 0, errTooLong
	}
	return n, err
}

func (s *stream) Close() error { return s.closer.Close() }
