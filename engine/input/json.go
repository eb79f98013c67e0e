package input

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays may lie in one another.
const maxDepth = 1000

// jsonLine reads one line of NDJSON, strictly as RFC 8259 has it.
type jsonLine struct {
	b   []byte
	pos int
}

// member is one name and value of an object, both as they stand in the line.
type member struct {
	name, value []byte
	// escaped tells that name holds escapes.
	escaped bool
}

// open reads the brace that begins the object.
func (j *jsonLine) open() error {
	j.space()
	if j.pos == len(j.b) || j.b[j.pos] != '{' {
		return errors.New("is not a JSON object; each line must be one, such as {\"dest\":\"IAH\"}")
	}
	j.pos++
	return nil
}

// next reads one member; first tells that it is the first. ok is false behind the last member, and then the line has
// ended too.
func (j *jsonLine) next(m *member, first bool) (ok bool, err error) {
	j.space()
	if j.peek() == '}' {
		j.pos++
		j.space()
		if j.pos != len(j.b) {
			return false, j.unexpected("the end of the line behind the object")
		}
		return false, nil
	}
	if !first {
		if j.peek() != ',' {
			return false, j.unexpected("a comma or the closing brace")
		}
		j.pos++
		j.space()
	}
	if j.peek() != '"' {
		return false, j.unexpected("a name in quotes")
	}
	if m.name, m.escaped, err = j.string(); err != nil {
		return false, err
	}
	m.name = m.name[1 : len(m.name)-1]
	j.space()
	if j.peek() != ':' {
		return false, j.unexpected("a colon behind the name")
	}
	j.pos++
	j.space()
	at := j.pos
	if err := j.value(maxDepth); err != nil {
		return false, err
	}
	m.value = j.b[at:j.pos]
	return true, nil
}

func (j *jsonLine) peek() byte {
	if j.pos < len(j.b) {
		return j.b[j.pos]
	}
	return 0
}

func (j *jsonLine) space() {
	for j.pos < len(j.b) {
		switch j.b[j.pos] {
		case ' ', '\t', '\r', '\n':
			j.pos++
		default:
			return
		}
	}
}

func (j *jsonLine) unexpected(want string) error {
	if j.pos >= len(j.b) {
		return fmt.Errorf("not valid JSON: the line ends where %s was expected; an object must be whole on its line", want)
	}
	r, _ := utf8.DecodeRune(j.b[j.pos:])
	return fmt.Errorf("not valid JSON: byte %d is %q where %s was expected", j.pos+1, r, want)
}

// value passes over one value.
func (j *jsonLine) value(depth int) error {
	switch c := j.peek(); {
	case c == '"':
		_, _, err := j.string()
		return err
	case c == '{', c == '[':
		if depth == 0 {
			return fmt.Errorf("objects and arrays lie more than %d deep", maxDepth)
		}
		return j.nested(c, depth-1)
	case c == '-', c >= '0' && c <= '9':
		return j.number()
	case c == 't':
		return j.literal("true")
	case c == 'f':
		return j.literal("false")
	case c == 'n':
		return j.literal("null")
	}
	return j.unexpected("a value")
}

// nested passes over an object or an array.
func (j *jsonLine) nested(opening byte, depth int) error {
	closing := opening + 2
	j.pos++
	for first := true; ; first = false {
		j.space()
		if j.peek() == closing {
			j.pos++
			return nil
		}
		if !first {
			if j.peek() != ',' {
				return j.unexpected("a comma or the closing " + string(closing))
			}
			j.pos++
			j.space()
		}
		if opening == '{' {
			if j.peek() != '"' {
				return j.unexpected("a name in quotes")
			}
			if _, _, err := j.string(); err != nil {
				return err
			}
			j.space()
			if j.peek() != ':' {
				return j.unexpected("a colon behind the name")
			}
			j.pos++
			j.space()
		}
		if err := j.value(depth); err != nil {
			return err
		}
	}
}

func (j *jsonLine) literal(want string) error {
	if !bytes.HasPrefix(j.b[j.pos:], []byte(want)) {
		return j.unexpected("a value")
	}
	j.pos += len(want)
	return nil
}

func (j *jsonLine) number() error {
	if j.peek() == '-' {
		j.pos++
	}
	switch c := j.peek(); {
	case c == '0':
		j.pos++
	case c >= '1' && c <= '9':
		j.digits()
	default:
		return j.unexpected("a digit")
	}
	if j.peek() == '.' {
		j.pos++
		if j.digits() == 0 {
			return j.unexpected("a digit")
		}
	}
	if c := j.peek(); c == 'e' || c == 'E' {
		j.pos++
		if c := j.peek(); c == '+' || c == '-' {
			j.pos++
		}
		if j.digits() == 0 {
			return j.unexpected("a digit")
		}
	}
	return nil
}

func (j *jsonLine) digits() int {
	from := j.pos
	for j.pos < len(j.b) && j.b[j.pos]-'0' <= 9 {
		j.pos++
	}
	return j.pos - from
}

// string passes over a string and returns it with its quotes.
func (j *jsonLine) string() (s []byte, escaped bool, err error) {
	from := j.pos
	j.pos++
	for j.pos < len(j.b) {
		switch c := j.b[j.pos]; {
		case c == '"':
			j.pos++
			return j.b[from:j.pos], escaped, nil
		case c < 0x20:
			return nil, false, j.unexpected("an escape for a control character")
		case c == '\\':
			escaped = true
			j.pos++
			if err := j.escape(); err != nil {
				return nil, false, err
			}
		default:
			j.pos++
		}
	}
	return nil, false, j.unexpected("the closing quote of a string")
}

func (j *jsonLine) escape() error {
	switch j.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		j.pos++
		return nil
	case 'u':
		j.pos++
		for range 4 {
			if hex(j.peek()) < 0 {
				return j.unexpected("a hexadecimal digit")
			}
			j.pos++
		}
		return nil
	}
	return j.unexpected("an escape such as \\n")
}

func hex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// unescape appends the text of a string that string has passed, without its quotes. A surrogate without its other half
// becomes U+FFFD.
func unescape(dst, s []byte) []byte {
	for len(s) > 0 {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := unit(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
					pair = utf16.DecodeRune(r, unit(s[2:]))
				}
				if pair != utf8.RuneError {
					s = s[6:]
				}
				r = pair
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func unit(s []byte) rune {
	return hex(s[0])<<12 | hex(s[1])<<8 | hex(s[2])<<4 | hex(s[3])
}
