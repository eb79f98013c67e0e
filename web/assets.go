package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// files holds static/: the placeholder and icon that are in the repository, and dist/, which `make build` makes from ts/
// and css/. Without dist/ the server still builds and says what is missing.
//
//go:embed static
var files embed.FS

type asset struct {
	body   []byte
	packed func() []byte // the body as gzip, made when first asked for
	etag   string
	kind   string
}

// assets are the built scripts and styles.
type assets struct {
	byName map[string]asset
}

func loadAssets() (*assets, error) {
	a := &assets{byName: map[string]asset{}}
	err := fs.WalkDir(files, "static", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		kind := mime.TypeByExtension(path.Ext(p))
		if strings.HasSuffix(p, ".js") {
			kind = "text/javascript; charset=utf-8"
		}
		a.byName[strings.TrimPrefix(p, "static/")] = asset{body: b, packed: sync.OnceValue(func() []byte { return pack(b) }), etag: `"` + hex.EncodeToString(sum[:8]) + `"`, kind: kind}
		return nil
	})
	return a, err
}

// pack makes the third of a script or style that a room full of learners has to fetch.
func pack(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one of its own
	_, _ = w.Write(b)
	_ = w.Close() // neither fails into a buffer
	return out.Bytes()
}

// built tells whether dist/ is there.
func (a *assets) built() bool {
	_, ok := a.byName["dist/lab.js"]
	return ok
}

// url gives the address of a file of dist/, with its content in it, so that a browser may keep it.
func (a *assets) url(name string) string {
	return "/static/dist/" + name + "?v=" + strings.Trim(a.byName["dist/"+name].etag, `"`)
}

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	a.send(w, r, strings.TrimPrefix(r.URL.Path, "/static/"))
}

func (a *assets) favicon(w http.ResponseWriter, r *http.Request) { a.send(w, r, "favicon.svg") }

func (a *assets) send(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := a.byName[name]
	if !ok {
		newProblem(http.StatusNotFound, "", "no such file").write(w)
		return
	}
	body, etag := f.body, f.etag
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body, etag = f.packed(), strings.TrimSuffix(etag, `"`)+`-gzip"`
	}
	h.Set("Content-Type", f.kind)
	h.Set("ETag", etag)
	if r.URL.Query().Get("v") == strings.Trim(f.etag, `"`) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}
