package input

import (
	"bytes"
	"io"
)

// csvRows cuts a CSV file (RFC 4180, comma, UTF-8) into rows, strictly: a quote inside an unquoted field and text
// behind a closing quote are errors. Empty lines are passed over. Inside a quoted field "\r\n" reads as "\n".
type csvRows struct {
	*lines
	line int64 // where the row begins

	// A row without quotes stays a view of the line; one with quotes is put together in text.
	plain []byte
	text  []byte
	ends  []int
	split bool // the row is in text
}

// next reads a row; io.EOF after the last.
func (c *csvRows) next() error {
	for {
		line, err := c.lines.next()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		c.line = c.number
		if bytes.IndexByte(line, '"') < 0 {
			c.plain, c.split = line, false
			return nil
		}
		c.split = true
		return c.quoted(line)
	}
}

// quoted takes apart a row with quotes, which may go on over several lines.
func (c *csvRows) quoted(line []byte) error {
	c.text, c.ends = c.text[:0], c.ends[:0]
	for {
		if len(line) == 0 || line[0] != '"' {
			i := bytes.IndexByte(line, ',')
			field := line
			if i >= 0 {
				field = line[:i]
			}
			if bytes.IndexByte(field, '"') >= 0 {
				return c.fail("a quote inside a field that does not begin with one; quote the whole field and double the quotes in it")
			}
			c.text = append(c.text, field...)
			c.ends = append(c.ends, len(c.text))
			if i < 0 {
				return nil
			}
			line = line[i+1:]
			continue
		}
		rest, more, err := c.quotedField(line[1:])
		if err != nil || !more {
			return err
		}
		line = rest
	}
}

// quotedField reads a field behind its opening quote; more tells whether another field follows in rest.
func (c *csvRows) quotedField(line []byte) (rest []byte, more bool, err error) {
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			c.text = append(append(c.text, line...), '\n')
			if len(c.text) > MaxLine {
				return nil, false, c.failAt("the row is longer than %d bytes; is a closing quote missing?", MaxLine)
			}
			if line, err = c.lines.next(); err != nil {
				if err == io.EOF {
					err = c.failAt("the quoted field is not closed before the end of the file")
				}
				return nil, false, err
			}
			continue
		}
		c.text = append(c.text, line[:i]...)
		line = line[i+1:]
		switch {
		case len(line) == 0:
			c.ends = append(c.ends, len(c.text))
			return nil, false, nil
		case line[0] == ',':
			c.ends = append(c.ends, len(c.text))
			return line[1:], true, nil
		case line[0] == '"':
			c.text = append(c.text, '"')
			line = line[1:]
		default:
			return nil, false, c.fail("text behind the closing quote of a field; a quote inside a quoted field is written twice")
		}
	}
}

// failAt is fail with the line on which the row began.
func (c *csvRows) failAt(format string, args ...any) error {
	err := c.fail(format, args...).(*Error)
	err.Line = c.line
	return err
}

// count is the number of fields of the row.
func (c *csvRows) count() int {
	if c.split {
		return len(c.ends)
	}
	return bytes.Count(c.plain, comma) + 1
}

var comma = []byte{','}

// field is the i-th field: a view that lives until the next row.
func (c *csvRows) field(i int) []byte {
	if c.split {
		from := 0
		if i > 0 {
			from = c.ends[i-1]
		}
		return c.text[from:c.ends[i]]
	}
	b := c.plain
	for ; i > 0; i-- {
		b = b[bytes.IndexByte(b, ',')+1:]
	}
	if n := bytes.IndexByte(b, ','); n >= 0 {
		b = b[:n]
	}
	return b
}

// fields are all fields of the row, copied.
func (c *csvRows) fields() []string {
	out := make([]string, 0, c.count())
	if c.split {
		from := 0
		for _, end := range c.ends {
			out = append(out, string(c.text[from:end]))
			from = end
		}
		return out
	}
	for _, f := range bytes.Split(c.plain, comma) {
		out = append(out, string(f))
	}
	return out
}

// checkCount refuses a row that is not as wide as the header.
func (c *csvRows) checkCount(want int) error {
	switch n := c.count(); n {
	case want:
		return nil
	case 1:
		return c.failAt("1 field where the header has %d", want)
	default:
		return c.failAt("%d fields where the header has %d", n, want)
	}
}
