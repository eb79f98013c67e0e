package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
)

func isJSON(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return r.Method != http.MethodGet && (kind == "" || strings.HasSuffix(strings.TrimSpace(strings.ToLower(kind)), "json"))
}

// mostDepth is how deep objects and arrays of a request may lie in one another. Nothing that is asked for here is deeper
// than eight.
const mostDepth = 32

var errTooDeep = errors.New("objects and arrays lie deeper in one another than 32")

// shallow reads JSON up to a depth: a small body of brackets could cost the reader and whoever reads what was kept of it.
type shallow struct {
	r       io.ReadCloser
	depth   int
	inside  bool // a string
	escaped bool
}

func (s *shallow) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	for _, c := range b[:n] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inside && c == '\\':
			s.escaped = true
		case c == '"':
			s.inside = !s.inside
		case s.inside:
		case c == '[' || c == '{':
			if s.depth++; s.depth > mostDepth {
				return 0, errTooDeep
			}
		case c == ']' || c == '}':
			s.depth--
		}
	}
	return n, err
}

func (s *shallow) Close() error { return s.r.Close() }
