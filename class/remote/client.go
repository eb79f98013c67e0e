// Package remote is how a program on a learner's machine speaks with the server of a class: it hands results in for
// labserver check --submit, and is the learner's side of labserver serve --join.
package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Options say how a server is reached.
type Options struct {
	// CA is a file of certificates that are trusted besides the machine's own; empty for none.
	CA string
	// CAFlag is how a user gives that file, for the error that says so.
	CAFlag string
}

// Client calls one server, as one learner. It never follows a redirection and never sends the token anywhere else.
type Client struct {
	server string
	token  string
	caFlag string
	http   *http.Client
}

// New makes a client of a server, given as scheme and host. The token is empty for who has not joined yet.
func New(server, token string, o Options) (*Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ForceAttemptHTTP2 = false // websockets need HTTP/1.1
	if o.CA != "" {
		pool, err := trusted(o.CA)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.CAFlag, o.CA, err)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Client{server: server, token: token, caFlag: o.CAFlag, http: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// As is a client of the same server for the learner who has a token.
func (c *Client) As(token string) *Client {
	other := *c
	other.token = token
	return &other
}

// Server is the scheme and the host.
func (c *Client) Server() string { return c.server }

// Close lets go of connections that nobody uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func trusted(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(b) {
		return nil, errors.New("there is no certificate in it: give a PEM file that begins with -----BEGIN CERTIFICATE-----")
	}
	return pool, nil
}

// Answer is what a server answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Refusal is an answer other than success.
type Refusal struct {
	Status     int
	Field      string
	Reason     string
	RetryAfter time.Duration
	said       string
}

func (r *Refusal) Error() string { return r.said }

// passing tells whether the same call may be taken later: the server is in trouble, too busy, or frozen.
func (r *Refusal) passing() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return r.Status >= 500
}

// JSON tells whether the body of an answer is JSON.
func (a *Answer) JSON() bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	kind = strings.TrimSpace(kind)
	return (kind == "application/json" || kind == "application/problem+json") && json.Valid(a.Body)
}

// Refused is nil for an answer of success.
func (a *Answer) Refused() error {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	r := &Refusal{Status: a.Status, said: "the server answered " + strconv.Itoa(a.Status) + " " + http.StatusText(a.Status)}
	if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s > 0 && s < 3600 {
		r.RetryAfter = time.Duration(s) * time.Second
	}
	var p struct{ Detail, Field, Reason string }
	if json.Unmarshal(a.Body, &p) == nil { // an answer that is no problem says nothing more
		r.Field, r.Reason = p.Field, p.Reason
		if p.Detail != "" {
			r.said += ": " + p.Detail
		}
	}
	return r
}

// mostAnswer bounds an answer that is read.
const mostAnswer = 8 << 20

// Do sends one request and reads the answer, whatever its status. An error means that no answer came, and says why in
// words for a user.
func (c *Client) Do(ctx context.Context, method, path string, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.sign(req.Header)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, c.elsewhere(resp.Header.Get("Location"))
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, c.explain(err)
	case len(b) > mostAnswer:
		return nil, fmt.Errorf("%s answered with more than %d MiB", c.server, mostAnswer>>20)
	case resp.StatusCode == http.StatusBadRequest && bytes.Contains(b, []byte("HTTP request to an HTTPS server")):
		return nil, fmt.Errorf("%s speaks TLS: give its address with https://", c.server)
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: b}, nil
}

func (c *Client) sign(h http.Header) {
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
	h.Set("User-Agent", "weir")
}

// elsewhere refuses a redirection. A token goes to the server that the user named, and to no other.
func (c *Client) elsewhere(to string) error {
	where := "elsewhere"
	if u, err := url.Parse(to); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		where = "to " + u.Scheme + "://" + u.Host
	}
	return fmt.Errorf("%s sends callers on %s: give that address if it is the class's server", c.server, where)
}

// explain says in words why no answer came.
func (c *Client) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var invalid x509.CertificateInvalidError
	var noTLS tls.RecordHeaderError
	var dns *net.DNSError
	var op *net.OpError
	ca := ""
	if c.caFlag != "" {
		ca = ": get its certificate file from the instructor and give it with " + c.caFlag + " FILE"
	}
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has a certificate that nobody trusted on this machine has signed%s", c.server, ca)
	case errors.As(err, &wrongName):
		return fmt.Errorf("the certificate of %s is not for this name: give the name that the instructor uses", c.server)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("the certificate of %s is not valid now: look at the clock of this machine, or tell the instructor", c.server)
	case errors.As(err, &invalid):
		return fmt.Errorf("the certificate of %s is not valid (%w)%s", c.server, invalid, ca)
	case errors.As(err, &noTLS), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("%s does not speak TLS: give its address with http://", c.server)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s: look at the address again", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return fmt.Errorf("%s does not answer in time: look at the address again, and whether the class's server runs and can be reached from here", c.server)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s does not answer (%w): look at the address again, and whether the class's server runs", c.server, op.Err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address in it may have a token
	}
	return fmt.Errorf("no answer of %s: %w", c.server, err)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
