package web

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/labs"
	"weir/web/i18n"
)

// Server answers every request of the lab.
type Server struct {
	ctx      context.Context // of the server's life: streams end with it
	log      *slog.Logger
	sessions *sessions
	inputs   *inputs
	assets   *assets
	texts    *i18n.Catalog
	dir      string
	// signKey signs the records of this server's own sessions.
	signKey ed25519.PrivateKey
	// progress is how far the one learner of this server is.
	progress *progressFile
	// checking has room for the checks that run at once; others wait.
	checking chan struct{}
	router   chi.Router
	started  time.Time
}

// mostChecks run at once: each builds a module and runs it, or runs a job.
const mostChecks = 2

func newServer(ctx context.Context, o Options, start startFunc) (*Server, error) {
	dir, err := instanceDir(o.DataDir)
	if err != nil {
		return nil, err
	}
	texts, err := i18n.Load()
	if err != nil {
		return nil, err
	}
	built, err := loadAssets()
	if err != nil {
		return nil, err
	}
	signKey, err := labs.RecordKey(o.DataDir)
	if err != nil {
		return nil, err
	}
	progress, err := openProgress(o.DataDir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		progress: progress, checking: make(chan struct{}, mostChecks),
		signKey: signKey,
		ctx:     ctx, log: o.Logger, dir: dir, texts: texts, assets: built, started: time.Now(),
		sessions: newSessions(start, filepath.Join(dir, "sessions"), o.Logger),
		inputs:   newInputs(filepath.Join(dir, "inputs")),
	}
	s.router = s.routes()
	return s, nil
}

func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(accessLog(s.log), recovered(s.log), secure, guard)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		newProblem(http.StatusMethodNotAllowed, "", r.Method+" is not for this address").write(w)
	})
	r.Get("/", s.home)
	r.Get("/labs/{id}", s.lab)
	r.Post("/labs/{id}", s.startForm)
	r.Get("/exercises", s.exerciseList)
	r.Get("/exercises/{id}", s.exercisePage)
	r.Get("/static/*", s.assets.serve)
	r.Get("/favicon.svg", s.assets.favicon)
	r.Get("/healthz", s.healthz)
	r.Get("/metrics", s.metrics)
	s.routeAPI(r)
	return r
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// close ends every session and removes what this server wrote.
func (s *Server) close(ctx context.Context) error {
	err := s.sessions.closeAll(ctx)
	s.inputs.removeAll()
	_ = os.RemoveAll(s.dir)
	return err
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}
