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
	// dir is this server's own, which goes with it; what belongs to a class lies in the class's folder and stays.
	dir string
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
	// housekeeping are the goroutines of a server that has to do with classes; they end with ctx.
	housekeeping sync.WaitGroup
}

// mostChecks run at once: each builds a module and runs it, or runs a job.
const mostChecks = 2

func newServer(ctx context.Context, o Options, start startFunc) (*Server, error) {
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
	s := &Server{
		ctx: ctx, log: o.Logger, texts: texts, assets: built, signKey: signKey,
		checking: make(chan struct{}, mostChecks),
	}
	if o.Class != nil {
		err = s.openForClasses(o, start)
	} else {
		err = s.openForOne(o, start)
	}
	if err != nil {
		return nil, err
	}
	s.router = s.routes()
	return s, nil
}

// openForOne opens what the server of one person has.
func (s *Server) openForOne(o Options, start startFunc) (err error) {
	if s.progress, err = openProgress(o.DataDir); err != nil {
		return err
	}
	if o.Join != nil {
		if s.joined, err = openJoined(o); err != nil {
			return err
		}
	}
	if s.dir, err = instanceDir(o.DataDir); err != nil {
		return err
	}
	s.sessions = newSessions(start, filepath.Join(s.dir, "sessions"), o.Logger)
	s.inputs = newInputs(filepath.Join(s.dir, "inputs"))
	return nil
}

// openForClasses opens what a server of classes has.
func (s *Server) openForClasses(o Options, start startFunc) error {
	c, err := openCourse(s.ctx, o)
	if err != nil {
		return err
	}
	s.course, s.trusted = c, o.Class.TrustedProxies
	s.sessions = newSessions(start, filepath.Join(c.dir, "sessions"), o.Logger)
	s.sessions.course = c
	s.inputs = newInputs(filepath.Join(c.dir, "inputs"))
	s.inputs.each, s.inputs.disks = c.limits.Uploads, c.disks
	return nil
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

// close ends every session and removes what this server wrote, but for what belongs to a class.
func (s *Server) close(ctx context.Context) error {
	err := s.sessions.closeAll(ctx)
	s.housekeeping.Wait()
	if s.course != nil {
		return errors.Join(err, s.course.close())
	}
	s.joined.close()
	_ = os.RemoveAll(s.dir)
	return err
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

var errStopping = newProblem(http.StatusServiceUnavailable, "", "the server is stopping")

// readyz says whether this server can do all it is there for: a balancer sends nobody to one that cannot.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.course != nil {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := s.course.store.Ping(ctx); err != nil {
			p := newProblem(http.StatusServiceUnavailable, "store", "it does not answer now")
			p.retryAfter = 2
			p.write(w)
			return
		}
	}
	if s.ctx.Err() != nil {
		errStopping.write(w)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}
