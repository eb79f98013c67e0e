package web

import (
	"net/http"
	"strings"

	"weir/web/templates"
)

// isPage tells whether a browser would show the answer to whoever asks: a problem document is for programs.
func isPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/metrics"
}

// lostPage says in the reader's language why a page of a class is not shown. why is dead for a link that leads nowhere any
// more, away for a store that does not answer now.
func (s *Server) lostPage(w http.ResponseWriter, r *http.Request, status int, why string) {
	b := s.base(r)
	if why == "dead" {
		b.Path = "/class" // the language switch must not ask for the link again
	} else {
		w.Header().Set("Retry-After", "2")
	}
	s.page(w, r, status, templates.ClassLostPage(b, why, why == "away"))
}
