package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// contentPolicy lets a page load only what this server sends: no other host, no inline script or style.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure adds the headers that keep a page to itself.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer: a form would then send "Origin: null", which is refused below.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// guard refuses what a website could do to a server on the visitor's own machine. A name that was made to resolve to this
// address (DNS rebinding) shows in Host; a request sent by a page of another site shows in Origin or Sec-Fetch-Site.
// Programs that are no browsers send neither Origin nor Sec-Fetch-Site and pass.
func guard(names []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return guarded(names, next) }
}

func guarded(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(r.Host, names) {
			newProblem(http.StatusForbidden, "Host", "only an address or localhost may name this server, not "+hostname(r.Host)).write(w)
			return
		}
		if changes(r) {
			if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
				newProblem(http.StatusForbidden, "Origin", "a page of another site may not drive the lab").write(w)
				return
			}
			if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
				newProblem(http.StatusForbidden, "Sec-Fetch-Site", "a page of another site may not drive the lab").write(w)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// changes tells whether a request can do more than read a document: every method but GET and HEAD, and a websocket.
func changes(r *http.Request) bool {
	return (r.Method != http.MethodGet && r.Method != http.MethodHead) || strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// hostAllowed accepts addresses and localhost: neither can be taken over by a foreign name server. A server of classes has
// names too, those that its operator gave it.
func hostAllowed(hostport string, names []string) bool {
	host := hostname(hostport)
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(host, hostname(name)) })
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, host)
}
