package web

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
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
	streams  streamCounts
	inputs   *inputs
	assets   *assets
	texts    *i18n.Catalog
	dir      string
	// signKey signs the records of this server's own sessions.
	signKey ed25519.PrivateKey
	// progress is how far the one learner of this server is. With classes it is in their store.
	progress *progressFile
	// course is what a server of classes has more; nil without --class.
	course *course
	// joined is what a server of one person has more who is in a class; nil without --join.
	joined *joined
	// trusted are the networks of proxies before this server.
	trusted []netip.Prefix
	// checking has room for the checks that run at once; others wait.
	checking chan struct{}
	router   chi.Router
	// housekeeping are the goroutines of a server of classes; they end with ctx.
	housekeeping sync.WaitGroup
	started      time.Time
}

// mostChecks run at once: each builds a module and runs it, or runs a job.
const mostChecks = 2

func newServer(ctx context.Context, o Options, start startFunc) (*Server, error) {
	dir := "" // what belongs to a class lies in its own folder and stays
	if o.Class == nil {
		var err error
		if dir, err = instanceDir(o.DataDir); err != nil {
			return nil, err
		}
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
	var progress *progressFile
	var c *course
	if o.Class == nil {
		progress, err = openProgress(o.DataDir)
	} else {
		c, err = openCourse(ctx, o)
	}
	if err != nil {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
		return nil, err
	}
	s := &Server{
		progress: progress, course: c, checking: make(chan struct{}, mostChecks),
		signKey: signKey,
		ctx:     ctx, log: o.Logger, dir: dir, texts: texts, assets: built, started: time.Now(),
		sessions: newSessions(start, filepath.Join(dir, "sessions"), o.Logger),
		inputs:   newInputs(filepath.Join(dir, "inputs")),
	}
	if c != nil {
		s.trusted = o.Class.TrustedProxies
		s.sessions.dir, s.sessions.course = filepath.Join(c.dir, "sessions"), c
		s.inputs = newInputs(filepath.Join(c.dir, "inputs"))
		s.inputs.each, s.inputs.disks = c.limits.Uploads, c.disks
	}
	if o.Join != nil {
		if s.joined, err = openJoined(o); err != nil {
			_ = os.RemoveAll(dir)
			return nil, err
		}
	}
	s.router = s.routes()
	return s, nil
}

func (s *Server) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(accessLog(s.log), recovered(s.log), packed(), secure)
	if s.course != nil {
		r.Use(forwarded(s.trusted), guard(knownHosts(s.course.hosts)), s.admit)
	} else {
		r.Use(guard(nil))
	}
	if s.joined != nil {
		r.Use(s.spotlit)
	}
	r.NotFound(s.notFound)
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		newProblem(http.StatusMethodNotAllowed, "", r.Method+" is not for this address").write(w)
	})
	r.Get("/", s.home)
	r.Get("/labs/{id}", s.lab)
	r.Post("/labs/{id}", s.startForm)
	r.Get("/class", s.classPage)
	r.Get("/exercises", s.exerciseList)
	r.Get("/exercises/{id}", s.exercisePage)
	r.Get("/static/*", s.assets.serve)
	r.Get("/favicon.svg", s.assets.favicon)
	r.Get("/healthz", s.healthz)
	r.Get("/readyz", s.readyz)
	r.Get("/metrics", s.metrics)
	s.routeAPI(r)
	return r
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// close ends every session and removes what this server wrote.
func (s *Server) close(ctx context.Context) error {
	err := s.sessions.closeAll(ctx)
	if s.course != nil {
		s.housekeeping.Wait()
		err = errors.Join(err, s.course.close())
	} else {
		s.housekeeping.Wait()
		s.joined.close()
		s.inputs.removeAll()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	return err
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}
