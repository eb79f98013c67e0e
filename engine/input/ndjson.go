package input

import (
	"bytes"
	"fmt"
)

// ndjsonRows reads a file of one JSON object a line. Blank lines are passed over.
type ndjsonRows struct {
	*lines
	json    jsonLine
	scratch []byte
	key     []byte // of the last row
}

// begin moves to the next line that is not blank, and into its object.
func (n *ndjsonRows) begin() error {
	for {
		line, err := n.lines.next()
		if err != nil {
			return err
		}
		if len(line) > 0 && line[0] != '{' && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if len(line) == 0 {
			continue
		}
		n.json = jsonLine{b: line}
		if err := n.json.open(); err != nil {
			return n.fail("%s", err)
		}
		return nil
	}
}

// memberName is the name of a member, without escapes. It lives until the next call.
func (n *ndjsonRows) memberName(m *member) []byte {
	if !m.escaped {
		return m.name
	}
	n.scratch = unescape(n.scratch[:0], m.name)
	return n.scratch
}

// next reads a row and its key, the value of the named member.
func (n *ndjsonRows) next(column string) error {
	if err := n.begin(); err != nil {
		return err
	}
	var m, found member
	for first := true; ; first = false {
		ok, err := n.json.next(&m, first)
		if err != nil {
			return n.fail("%s", err)
		}
		if !ok {
			break
		}
		if string(n.memberName(&m)) != column {
			continue
		}
		if found.value != nil {
			return n.failKey(column, fmt.Sprintf("%q stands twice in the object", column))
		}
		found = m
	}
	if found.value == nil {
		return n.failKey(column, fmt.Sprintf("the object has no %q", column))
	}
	switch v := found.value; v[0] {
	case '"':
		v = v[1 : len(v)-1]
		if bytes.IndexByte(v, '\\') >= 0 {
			n.scratch = unescape(n.scratch[:0], v)
			v = n.scratch
		}
		n.key = v
	case '{', '[':
		return n.failKey(column, fmt.Sprintf("%q is not a string, number, true or false", column))
	case 'n':
		return n.failKey(column, fmt.Sprintf("%q is null; a key must be a string, number, true or false", column))
	default:
		n.key = v
	}
	return nil
}

func (n *ndjsonRows) failKey(column, reason string) error {
	return &Error{File: n.name, Line: n.number, Column: column, Reason: reason}
}
