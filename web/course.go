package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/class"
	"weir/class/store"
	"weir/whole"
)

// ClassOptions say how to serve classes.
type ClassOptions struct {
	// DB is where people and results are kept: sqlite:PATH or postgres://…; empty is a file in the data folder.
	DB string
	// TLSCert and TLSKey are files; both or none.
	TLSCert, TLSKey string
	// TrustedProxies are the networks whose word on a caller's address is taken.
	TrustedProxies []netip.Prefix
	// Hosts are the names by which browsers reach this server, besides its addresses.
	Hosts []string
	// Advertise is the address at which the other servers on the store reach this one; empty is one of its own.
	Advertise string
	// Limits bound what learners may use; zero fields have defaults.
	Limits ClassLimits
}

// ClassLimits bound what the learners of one server may use, so that none can starve the room.
type ClassLimits struct {
	Sessions   int     // jobs that run at once on this server
	PerLearner int     // jobs that one learner may run at once
	Rate       float64 // records a second of a learner's job
	StateBytes int64   // of a learner's job, as its keys and bytes a key make it
	Uploads    int     // files of one learner that are kept
	DiskEach   int64   // bytes of uploads and checkpoints that one learner may have
	Disk       int64   // and all together
}

// DefaultClassLimits are for a machine with two cores and 4 GB.
var DefaultClassLimits = ClassLimits{Sessions: 40, PerLearner: 1, Rate: 50_000, StateBytes: 64 << 20, Uploads: 2, DiskEach: 512 << 20, Disk: 8 << 30}

func (l ClassLimits) withDefaults() ClassLimits {
	d := DefaultClassLimits
	return ClassLimits{
		Sessions: cmp.Or(l.Sessions, d.Sessions), PerLearner: cmp.Or(l.PerLearner, d.PerLearner), Rate: cmp.Or(l.Rate, d.Rate),
		StateBytes: cmp.Or(l.StateBytes, d.StateBytes), Uploads: cmp.Or(l.Uploads, d.Uploads), DiskEach: cmp.Or(l.DiskEach, d.DiskEach), Disk: cmp.Or(l.Disk, d.Disk),
	}
}

// classFolder is where a server keeps what belongs to its classes.
func classFolder(dataDir string) string { return filepath.Join(dataDir, "class") }

// ClassDB is where a server of classes keeps people and results that is told nothing else.
func ClassDB(dataDir string) string {
	return "sqlite:" + filepath.Join(classFolder(dataDir), "weir.db")
}

// course is what a server has more when it serves classes: their store, who is who, and who may use how much.
type course struct {
	store  *store.Store
	log    *slog.Logger
	limits ClassLimits
	dir    string // of sessions that come back after a restart
	server string // the id of this server in the store
	hosts  []string
	// addresses are where the join page is, set once the server listens.
	addresses []string
	unlock    func()
	// trust is what the servers on one store know of each other, others what is known of the other servers.
	trust  *trust
	others *others

	latency  *storeLatency
	guesses  *guesses
	requests *rates
	sockets  *tally
	line     *queue
	disks    *disks
	writes   keyedMutex // of the progress of one person

	mu    sync.Mutex
	known map[string]*knownToken // by token, or by the hash of one that another server tells of
	rooms map[string]*room       // by class
	// teaching is the progress of instructors who try exercises; it is nobody's grade and lives as long as the server.
	teaching map[string]*Progress
	checking map[string]bool   // people whose work is being checked
	places   map[string]placed // what pages said since the last write, by person
}

// openCourse opens the store and what this server kept of its classes.
func openCourse(ctx context.Context, o Options) (_ *course, err error) {
	c, limits := o.Class, o.Class.Limits.withDefaults()
	hosts := slices.Clone(c.Hosts)
	if c.Advertise != "" {
		u, err := ParseAdvertise(c.Advertise)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, u.Host) // the other servers call this one by it
	}
	dir := classFolder(o.DataDir)
	if err := os.MkdirAll(filepath.Join(dir, "sessions"), 0o700); err != nil {
		return nil, fmt.Errorf("data folder %s: %w", o.DataDir, err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	server, err := serverID(filepath.Join(dir, "server-id"))
	if err != nil {
		return nil, err
	}
	url := c.DB
	if url == "" {
		url = ClassDB(o.DataDir)
	}
	st, err := store.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	secret, err := st.Secret(ctx, serverSecret)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	sockets := newTally()
	return &course{
		trust: newTrust(server, secret), others: newOthers(),
		store: st, log: o.Logger, limits: limits, dir: dir, server: server, hosts: hosts, unlock: unlock,
		latency: &storeLatency{}, guesses: newGuesses(), requests: newRates(), sockets: sockets, line: newQueue(sockets.open), disks: newDisks(limits),
		known: map[string]*knownToken{}, rooms: map[string]*room{}, teaching: map[string]*Progress{}, checking: map[string]bool{}, places: map[string]placed{},
	}, nil
}

func (c *course) close() error {
	c.unregister()
	err := c.store.Close()
	c.unlock()
	return err
}

// serverID is the name of this server in the store, made at its first start and kept in the data folder.
func serverID(path string) (string, error) {
	b, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(b)); err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := strings.ToLower(rand.Text()[:16])
	return id, whole.Write(path, []byte(id+"\n"))
}

// knownToken is whose a token is, as the store said last.
type knownToken struct {
	who *caller // nil: nobody's
	at  time.Time
}

const (
	// knownFor is how long a token is taken for what it was: one that another server ended works that long here.
	knownFor = 5 * time.Second
	// knownInTrouble is how long a token is believed while the store does not answer.
	knownInTrouble = 10 * time.Minute
	mostKnown      = 20_000
)

// whoHas tells whose a token is; nil for nobody's. While the store does not answer, callers that were here lately are
// still known.
func (c *course) whoHas(ctx context.Context, token string) (*caller, error) {
	if len(token) > tokenBytes {
		return nil, nil
	}
	who, err := c.whoHasHash(ctx, token, class.HashToken(token))
	if err != nil || who == nil {
		return nil, err
	}
	shown := *who
	shown.token = token
	return &shown, nil
}

// whoHasHash tells whose the token of a hash is; key names it among those that are known.
func (c *course) whoHasHash(ctx context.Context, key string, hash []byte) (*caller, error) {
	now := time.Now()
	c.mu.Lock()
	k := c.known[key]
	c.mu.Unlock()
	if k != nil && now.Sub(k.at) < knownFor {
		return k.who, nil
	}
	who, err := c.lookUp(ctx, hash)
	if err != nil {
		if k != nil && now.Sub(k.at) < knownInTrouble {
			return k.who, nil
		}
		return nil, err
	}
	if who == nil {
		return nil, nil // not kept: guesses must not fill the memory
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostKnown {
		clear(c.known)
	}
	c.known[key] = &knownToken{who, now}
	return who, nil
}

func (c *course) lookUp(ctx context.Context, hash []byte) (*caller, error) {
	p, err := timed(c, func() (class.Person, error) { return c.store.PersonByToken(ctx, hash) })
	switch {
	case err == nil:
		return &caller{Kind: learner, Class: p.Class, Person: p.ID}, nil
	case !errors.Is(err, class.ErrNotFound):
		return nil, storeProblem(err)
	}
	k, err := timed(c, func() (class.Class, error) { return c.store.ClassByToken(ctx, hash) })
	switch {
	case err == nil:
		return &caller{Kind: instructor, Class: k.ID}, nil
	case !errors.Is(err, class.ErrNotFound):
		return nil, storeProblem(err)
	}
	return nil, nil
}

// forget has the tokens of a person, or of all, looked up anew.
func (c *course) forget(person string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t, k := range c.known {
		if person == "" || k.who.Person == person {
			delete(c.known, t)
		}
	}
}

// audit notes what an instructor did. That it cannot be noted does not undo it.
func (c *course) audit(ctx context.Context, who *caller, what, about string) {
	err := c.store.Audit(ctx, class.Audited{Class: who.Class, At: time.Now().UTC(), Who: "instructor", What: what, About: about})
	if err != nil {
		c.log.Error("audit log", "class", who.Class, "what", what, "error", err)
	}
}

// storeProblem turns an error of the store into what a caller may read. Trouble of the store is 503: the same call may
// work later, and nothing was acknowledged.
func storeProblem(err error) error {
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.Is(err, class.ErrInvalid):
		text := err.Error()
		if _, after, ok := strings.Cut(text, class.ErrInvalid.Error()+": "); ok {
			text = after
		}
		field, reason, ok := strings.Cut(text, ": ")
		if !ok || strings.Contains(field, " ") {
			field, reason = "", text
		}
		return newProblem(http.StatusUnprocessableEntity, field, reason)
	case errors.Is(err, class.ErrNotFound):
		return newProblem(http.StatusNotFound, "", "there is no such thing in this class")
	case errors.Is(err, class.ErrLate):
		return newProblem(http.StatusConflict, "deadline", class.ErrLate.Error())
	case errors.Is(err, class.ErrClosed):
		return newProblem(http.StatusConflict, "class", "it is closed: it takes no new people and no results")
	case errors.Is(err, class.ErrConflict):
		return newProblem(http.StatusConflict, "", "somebody else changed it meanwhile: look again and repeat")
	case errors.Is(err, context.Canceled):
		return newProblem(http.StatusServiceUnavailable, "", "the request was broken off")
	}
	p = newProblem(http.StatusServiceUnavailable, "store", "it does not answer now. What was acknowledged is kept; what you send now is not: try again in a moment")
	p.retryAfter = 2
	return p
}

// timed calls the store and notes how long it took.
func timed[T any](c *course, call func() (T, error)) (T, error) {
	start := time.Now()
	out, err := call()
	c.latency.observe(time.Since(start), err)
	return out, err
}
