package web

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
)

// accessLog writes one line a request. Reads of documents are of interest only when something is being looked into.
func accessLog(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			next.ServeHTTP(ww, r)
			level := slog.LevelDebug
			switch {
			case ww.Status() >= 500:
				level = slog.LevelError
			case ww.Status() >= 400 || (r.Method != http.MethodGet && r.Method != http.MethodHead):
				level = slog.LevelInfo
			}
			log.LogAttrs(r.Context(), level, "request", slog.String("method", r.Method), slog.String("path", loggedPath(r.URL.Path)),
				slog.Int("status", ww.Status()), slog.Int("bytes", ww.BytesWritten()), slog.Duration("took", time.Since(start)))
		})
	}
}

// loggedPath is a path without the secret that a link to a class has.
func loggedPath(path string) string {
	for _, link := range []string{"/class/p/", "/class/i/"} {
		if strings.HasPrefix(path, link) {
			return link + "…"
		}
	}
	return path
}

// recovered answers 500 where a handler panics, and logs it with its stack.
func recovered(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v != nil {
					if v == http.ErrAbortHandler {
						panic(v)
					}
					log.Error("handler panicked", "path", loggedPath(r.URL.Path), "panic", v, "stack", string(debug.Stack()))
					newProblem(http.StatusInternalServerError, "", "the server failed at this request; its log says where").write(w)
				}
			}()
			next.ServeHTTP(w, r)
		})
	}
}
