package web

import (
	"net/http"

	"github.com/go-chi/chi/v5/middleware"
)

// packedKinds are the answers that are made anew for each request and are text: pages, and the JSON of the API. A script or
// style is packed once (assets.go), a record is packed already, and the lines of a check that runs must not wait in a buffer.
var packedKinds = []string{"text/html", "application/json", "application/problem+json", "application/openapi+json"}

// packedLevel takes most of what can be had at a fraction of the CPU that the best level needs: a page is packed each time.
const packedLevel = 4

// packed sends such answers as gzip to whoever takes it. A page is then a fifth, which a room full of learners on one
// network feels.
func packed() func(http.Handler) http.Handler {
	return middleware.Compress(packedLevel, packedKinds...)
}
