package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/class"
	"weir/class/remote"
	"weir/exercises/kit/runner"
	"weir/labs"
)

// A learner may run the engine on their own machine and be in a class by it: the labs, the checks and the progress are
// this server's, as for one person, and the class's server is told where the learner is and what came of checks. What the
// class has all pages do comes from there, over one connection that this server keeps; a page here asks its own server
// alone. The class never drives this machine: what comes from it are texts, a lab's address with knobs, and pictures of
// the run in the spotlight.

// JoinOptions say which class a server for one person is in.
type JoinOptions struct {
	Address remote.Address
	// Name is the learner's; empty has the page ask for it.
	Name string
	// CA is a file of certificates that are trusted for the class's server.
	CA string
}

// joined is what a server for one person has more when it is in a class.
type joined struct {
	o      JoinOptions
	log    *slog.Logger
	client *remote.Client // of nobody yet
	people *membersFile
	box    *outbox
	// first and longest are the waits between tries to reach the class.
	first, longest time.Duration
	// contact bounds a question to the class's server, patience is how long a page or a check waits for its word on a result
	// before it is told that the result waits.
	contact, patience time.Duration

	mu      sync.Mutex
	me      *membership // nil: not in the class yet, or no more
	live    classLive   // what the class said last
	link    link
	skew    time.Duration // the class's clock is so much later than this machine's
	changed chan struct{} // closed, and replaced, when me, live or link changes
	place   placed        // what a page said last
	behind  bool          // the class has not the progress that this server has
}

// link is how the connection to the class stands.
type link string

const (
	linkAway    link = "away"    // it is tried again
	linkUp      link = ""        // the class says what pages do
	linkRevoked link = "revoked" // the class knows this learner no more
)

// openJoined reads what this machine knows of its classes. Nobody is asked yet.
func openJoined(o Options) (*joined, error) {
	client, err := remote.New(o.Join.Address.Server, "", remote.Options{CA: o.Join.CA, CAFlag: "--join-ca"})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.DataDir, "joined")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder %s: %w", o.DataDir, err)
	}
	people, err := openMembers(filepath.Join(dir, "class.json"))
	if err != nil {
		return nil, err
	}
	box, err := openOutbox(filepath.Join(dir, "results"))
	if err != nil {
		return nil, err
	}
	return &joined{o: *o.Join, log: o.Logger, client: client, people: people, box: box,
		first: 500 * time.Millisecond, longest: 20 * time.Second, contact: 10 * time.Second, patience: 3 * time.Second, link: linkAway, changed: make(chan struct{}), behind: true}, nil
}

// begin finds out who the learner is: by the personal link given, as at the last start, or by joining with the code and
// the name. Somebody who is known begins without the class's server too. Nobody yet, and no error: the page asks.
func (j *joined) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, j.contact)
	defer cancel()
	a := &j.o.Address
	known := j.people.find(a, j.o.Name)
	switch {
	case known != nil:
		me, err := j.ask(ctx, known.Token)
		switch {
		case err == nil:
			return j.enter(known, me)
		case !isRefusal(err, http.StatusUnauthorized, http.StatusNotFound, http.StatusForbidden) && !errors.Is(err, errNoClass):
			j.log.Warn("the class cannot be reached now: the labs work, results wait on this machine", "class", known.Me.Class.Name, "reason", err)
			j.set(known)
			return nil
		case a.Token == "" && !errors.Is(err, errNoClass):
			return fmt.Errorf("%s knows you no longer by the link that %s has: the instructor can give you a new one, for --join. To join anew as somebody else, move that file away",
				a.Server, j.people.path)
		}
		return j.linkProblem(err)
	case a.Token != "":
		me, err := j.ask(ctx, a.Token)
		if err != nil {
			return j.linkProblem(err)
		}
		return j.enter(j.people.person(a.Server, me.ID), me)
	case a.Code == "":
		return fmt.Errorf("the address %s has no join code: give the one that the instructor shows, with ?code= in it, or --code CODE", a.Server)
	case j.o.Name == "":
		return nil
	}
	_, err := j.join(ctx, a.Code, j.o.Name, "")
	return err
}

var errNoClass = errors.New("there is no class: is it a labserver serve --class?")

func isRefusal(err error, statuses ...int) bool {
	var r *remote.Refusal
	return errors.As(err, &r) && slices.Contains(statuses, r.Status)
}

func (j *joined) linkProblem(err error) error {
	switch {
	case errors.Is(err, errNoClass):
		return fmt.Errorf("at %s %w", j.o.Address.Server, err)
	case isRefusal(err, http.StatusUnauthorized, http.StatusNotFound, http.StatusForbidden):
		return fmt.Errorf("the personal link leads nowhere at %s, or no longer: ask the instructor for a new one, or join with the code", j.o.Address.Server)
	}
	return err
}

// ask asks the class who has a token.
func (j *joined) ask(ctx context.Context, token string) (*classMe, error) {
	a, err := j.client.As(token).Do(ctx, http.MethodGet, "/api/v1/class/me", nil)
	if err != nil {
		return nil, err
	}
	if a.Status == http.StatusNotFound && !a.JSON() || a.Status == http.StatusOK && !a.JSON() {
		return nil, errNoClass
	}
	if err := a.Refused(); err != nil {
		return nil, err
	}
	return readMe(a.Body, token)
}

// join joins the class of a code.
func (j *joined) join(ctx context.Context, code, name, alias string) (*classMe, error) {
	body, err := json.Marshal(map[string]string{"code": code, "name": name, "alias": alias})
	if err != nil {
		return nil, err
	}
	a, err := j.client.Do(ctx, http.MethodPost, "/api/v1/class/join", body)
	if err != nil {
		return nil, err
	}
	if (a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed || a.Status < 300) && (!a.JSON() || a.Status >= 300) {
		return nil, fmt.Errorf("at %s %w", j.client.Server(), errNoClass)
	}
	if err := a.Refused(); err != nil {
		return nil, joinProblem(j.client.Server(), code, err)
	}
	me, err := readMe(a.Body, "")
	if err != nil {
		return nil, err
	}
	m := &membership{ID: class.NewID(), Server: j.client.Server(), Asked: name}
	if parsed, err := class.ParseCode(code); err == nil {
		m.Code = parsed
	}
	return me, j.enter(m, me)
}

// refusedJoin is a refusal to join, in words for a terminal; a page reads the refusal in it.
type refusedJoin struct {
	*remote.Refusal
	said string
}

func (r *refusedJoin) Error() string { return r.said }
func (r *refusedJoin) Unwrap() error { return r.Refusal }

func joinProblem(server, code string, err error) error {
	var r *remote.Refusal
	if !errors.As(err, &r) {
		return err
	}
	said := ""
	switch {
	case r.Status == http.StatusForbidden:
		said = fmt.Sprintf("no class at %s has the code %s: look at the instructor's screen again", server, class.ShowCode(code))
	case r.Status == http.StatusTooManyRequests:
		said = fmt.Sprintf("too many wrong codes came to %s from here: wait a little and give the right one", server)
	case r.Status == http.StatusConflict:
		said = fmt.Sprintf("the class at %s is closed: it takes no new people", server)
	case r.Status == http.StatusUnprocessableEntity && r.Field == "name":
		said = "--name: " + r.Reason
	default:
		said = fmt.Sprintf("joining the class at %s: %s", server, r.Error())
	}
	return &refusedJoin{r, said}
}

// readMe reads who one is, as a class's server says it.
func readMe(b []byte, token string) (*classMe, error) {
	var me classMe
	if err := json.Unmarshal(b, &me); err != nil {
		return nil, fmt.Errorf("the class's server says who you are in words that this version does not know: use the version that it has: %w", err)
	}
	if me.Token == "" {
		me.Token = token
	}
	switch {
	case me.Kind == "instructor":
		return nil, errors.New("this token is the instructor's: a learner joins with the join address, which has the code")
	case me.Kind != "learner" || !validID(me.ID) || me.Token == "" || me.Class.Name == "":
		return nil, errors.New("the class's server does not say who you are: use the version of labserver that it has")
	}
	return &me, nil
}

// enter keeps who the learner is on this machine, and has them in the class from now on.
func (j *joined) enter(m *membership, me *classMe) error {
	m.Token, m.Me = me.Token, *me
	if err := j.people.keep(m); err != nil {
		return err
	}
	if me.Engine != labs.EngineVersion() {
		theirs := me.Engine
		if theirs == "" {
			theirs = "an older one"
		}
		j.log.Warn("the class's server has another version: labs and checks may differ", "theirs", theirs, "ours", labs.EngineVersion())
	}
	j.box.retry(m.ID)
	j.set(m)
	return nil
}

// set has pages know who is in the class.
func (j *joined) set(m *membership) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.me, j.live, j.link, j.behind = m, classLive{}, linkAway, true
	if m != nil {
		j.live = j.clean(m.Me.Live)
	}
	j.tell()
}

// tell wakes whoever follows; the lock is held.
func (j *joined) tell() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// member is who is in the class; nil is nobody yet. A server that is in no class has nobody.
func (j *joined) member() *membership {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.me
}

// state is who is in the class, what it said last, and what is closed when that changes.
func (j *joined) state() (*membership, classLive, link, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	live := j.live
	live.Now = time.Now().UTC().Add(j.skew)
	return j.me, live, j.link, j.changed
}

// as is a client for a member.
func (j *joined) as(m *membership) *remote.Client { return j.client.As(m.Token) }

// leave has this machine in no class any more. Results that wait stay for when the learner comes back.
func (j *joined) leave() error {
	m := j.member()
	if m == nil {
		return nil
	}
	if err := j.people.drop(m.ID); err != nil {
		return err
	}
	j.set(nil)
	return nil
}

// run does what a joined server does by itself, until ctx ends.
func (j *joined) run(ctx context.Context, s *Server) {
	var wg sync.WaitGroup
	wg.Go(func() { j.follow(ctx) })
	wg.Go(func() { j.send(ctx) })
	wg.Go(func() { j.tellPlaces(ctx, s) })
	wg.Wait()
}

// close lets go of the connections to the class's server.
func (j *joined) close() {
	if j != nil {
		j.client.Close()
	}
}

// sayJoined says in which class the learner is, or where to join it.
func (j *joined) sayJoined(out io.Writer, base string) {
	if m := j.member(); m != nil {
		_, _ = fmt.Fprintf(out, "in the class: %s at %s, as %s\n", oneLine(m.Me.Class.Name), m.Server, oneLine(m.Me.Name))
		if n := j.box.waiting(m.ID); n > 0 {
			_, _ = fmt.Fprintf(out, "results that wait to be sent: %d\n", n)
		}
		return
	}
	_, _ = fmt.Fprintf(out, "give your name to join the class: %s/class\n", base)
}

func oneLine(s string) string { return strings.Join(strings.Fields(shownText(s)), " ") }

// OnlyHere refuses an address for a server with --join that others on the network reach: it would serve them the learner's
// token.
func OnlyHere(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil // listening says what is wrong with it
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--join serves one person on their own machine: address %s is for the network, give one such as --addr %s", addr, DefaultAddr)
}

// asksName tells whether a page has to ask for the learner's name before they are in the class.
func (j *joined) asksName() bool {
	return j != nil && j.member() == nil && j.o.Address.Code != ""
}

// report hands in the result of a check that this machine made, under the id that the page made before it; it answers
// whether the class has it.
func (j *joined) report(ctx context.Context, m *membership, id string, e *runner.ExerciseReport, work *runner.Submission) bool {
	if e.Work == "" {
		return false // there was nothing to judge
	}
	if !validResultID(id) {
		id = class.NewID() // a program that made none
	}
	body, err := runner.HandIn(id, labs.EngineVersion(), e, work, time.Now())
	if err != nil {
		j.log.Error("a result is not kept", "exercise", e.ID, "error", err)
		return false
	}
	o, answered, err := j.handIn(ctx, m, id, body)
	if err != nil {
		j.log.Error("a result is not kept", "exercise", e.ID, "error", err)
	}
	return answered && o.refused == nil
}
