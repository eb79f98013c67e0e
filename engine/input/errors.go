package input

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Error says what is wrong with an input file, and where.
type Error struct {
	File   string
	Line   int64  // 1 is the first; 0 when the whole file is meant
	Column string // the column meant, if one is
	Reason string
}

// Error is one line: the file, its line, and the reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return e.File + " line " + strconv.FormatInt(e.Line, 10) + ": " + e.Reason
}

// listColumns names the columns for an error; a long list is cut.
func listColumns(columns []string) string {
	const most = 30
	var b strings.Builder
	for i, c := range columns {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(columns)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if c = clip(c, 60); strings.ContainsFunc(c, unicode.IsControl) || strings.ContainsAny(c, ",\"") || strings.TrimSpace(c) != c || c == "" {
			c = strconv.Quote(c) // the error stays one line, and shows where a name ends
		}
		b.WriteString(c)
	}
	return b.String()
}

// clip cuts s to at most n bytes at a rune's edge.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
