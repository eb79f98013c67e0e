package web

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir/class"
)

const (
	// thereEvery is how often a server says that it is there, thereFor how long it counts as there after that.
	thereEvery = 15 * time.Second
	thereFor   = time.Minute
	// dialTime and answerTime bound what another server has to take a connection and to answer.
	dialTime   = 3 * time.Second
	answerTime = 20 * time.Second
)

// others are ways to the other servers on the store.
type others struct {
	mu     sync.Mutex
	ways   map[string]*way // by server
	told   bool            // the store has this server
	closed bool

	follows follows
}

// way is how one other server is reached.
type way struct {
	class.Server
	base      *url.URL
	transport *http.Transport
}

func newOthers() *others {
	return &others{ways: map[string]*way{}, follows: follows{of: map[string]*followed{}}}
}

// ParseAdvertise reads the address at which the other servers reach one: http or https with a host, and no more.
func ParseAdvertise(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the address of a server: give one such as http://10.0.0.7:8090", text)
	}
	u.Path = ""
	return u, nil
}

// to gives the way to a server, as the store has it now. Another address, or none of the store, is never called.
func (o *others) to(v class.Server) (*way, error) {
	base, err := ParseAdvertise(v.URL)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errStopping
	}
	w := o.ways[v.ID]
	if w != nil && w.URL == v.URL && w.Pin == v.Pin {
		return w, nil
	}
	if w != nil {
		w.transport.CloseIdleConnections()
	}
	w = &way{Server: v, base: base, transport: &http.Transport{
		// No proxy of the environment: these are our own servers.
		DialContext:     (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig: pinned(v.Pin, base.Hostname()), TLSHandshakeTimeout: dialTime,
		ResponseHeaderTimeout: answerTime, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16,
	}}
	o.ways[v.ID] = w
	return w, nil
}

// close ends all connections to other servers.
func (o *others) close() {
	o.mu.Lock()
	o.closed = true
	for _, w := range o.ways {
		w.transport.CloseIdleConnections()
	}
	o.mu.Unlock()
	o.follows.close()
}

// pinned takes the certificate that the store has of a server, which may be one that it made itself for a network without
// names. Any other, of a proxy or renewed since, has to be good by itself.
func pinned(pin, host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if pin == "" {
		return c
	}
	c.InsecureSkipVerify = true // it is verified here instead
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("no certificate")
		}
		leaf := s.PeerCertificates[0]
		if pinOf(leaf.Raw) == pin {
			return nil
		}
		between := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Intermediates: between})
		return err
	}
	return c
}

func pinOf(certificate []byte) string {
	digest := sha256.Sum256(certificate)
	return hex.EncodeToString(digest[:])
}

// pinNow gives the digest of the certificate that a server shows now.
func pinNow(secured *tls.Config) func() string {
	return func() string {
		if secured == nil || secured.GetCertificate == nil {
			return ""
		}
		pair, err := secured.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil || pair == nil || len(pair.Certificate) == 0 {
			return ""
		}
		return pinOf(pair.Certificate[0])
	}
}

// register tells the store where the other servers reach this one, now and again until ctx ends.
func (c *course) register(ctx context.Context, at string, pin func() string) {
	c.others.mu.Lock()
	c.others.told = true
	c.others.mu.Unlock()
	t := time.NewTicker(thereEvery)
	defer t.Stop()
	for {
		err := c.store.PutServer(ctx, class.Server{ID: c.server, URL: at, Pin: pin(), Seen: time.Now().UTC()})
		if err != nil && ctx.Err() == nil {
			c.log.Warn("the other servers are not told where this one is", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// unregister tells the store that this server is not there any more, and ends what it has with the others.
func (c *course) unregister() {
	c.others.close()
	c.others.mu.Lock()
	told := c.others.told
	c.others.mu.Unlock()
	if !told {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := c.store.DeleteServer(ctx, c.server); err != nil {
		c.log.Warn("the store still has this server", "error", err)
	}
}

var errServerAway = func() *problem {
	p := newProblem(http.StatusServiceUnavailable, "server", "the server that runs this job does not answer now: it comes back by itself when that server is there again")
	p.retryAfter = 2
	return p
}()

// elsewhere finds a session that runs on another server, for a caller who may look at it; whoever runs it looks again. One
// that is on no server, or not for the caller, is not there: 404. One whose server is away is 503.
func (s *Server) elsewhere(ctx context.Context, who *caller, id string) (*class.Session, *way, error) {
	if s.course == nil || who.via != "" || !validID(id) || who.Kind != learner && who.Kind != instructor {
		return nil, nil, errNoSession
	}
	row, at, err := s.course.store.SessionServer(ctx, id)
	switch {
	case errors.Is(err, class.ErrNotFound):
		return nil, nil, errNoSession
	case err != nil:
		return nil, nil, storeProblem(err)
	case row.Class != who.Class || row.Server == s.course.server:
		return nil, nil, errNoSession
	case who.Kind == learner && row.Person != who.Person:
		v, err := s.course.view(ctx, who.Class)
		if err != nil {
			return nil, nil, err
		}
		if v.class.Steering.Spotlight != id {
			return nil, nil, errNoSession
		}
	}
	to, err := s.course.others.to(at)
	if err != nil {
		return &row, nil, errServerAway
	}
	return &row, to, nil
}

// there tells whether a server was heard of lately.
func there(v class.Server, now time.Time) bool { return now.Sub(v.Seen) < thereFor }
