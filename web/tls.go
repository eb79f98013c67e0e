package web

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// Weir sends no Strict-Transport-Security: a browser would hold it against every other port of the same name, such as a
// learner's own lab or a Flink page over plain HTTP. Cookies are Secure, so none leaves over plain HTTP either way.

// certificateEvery is how often it is looked at whether the certificate's files were renewed.
const certificateEvery = time.Second

// certificate is the pair of files that a server over TLS shows. Files that were renewed are read without a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	read   [2]fileStamp // of the files when they were read last
	looked time.Time
}

// fileStamp tells whether a file was written since.
type fileStamp struct {
	modified time.Time
	size     int64
}

func (c *certificate) stamps() (s [2]fileStamp, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return s, err
		}
		s[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return s, nil
}

func (c *certificate) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w: give two PEM files that belong together with --tls-cert and --tls-key", c.certFile, c.keyFile, err)
	}
	if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
		c.log.Warn("the certificate has expired: browsers will refuse it", "file", c.certFile, "expired", leaf.NotAfter)
	}
	return &pair, nil
}

// show is the certificate for one more connection. One that cannot be read, or is renewed only in half, leaves the one
// before in use.
func (c *certificate) show(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < certificateEvery {
		return c.pair, nil
	}
	c.looked = time.Now()
	now, err := c.stamps()
	if err != nil || now == c.read {
		return c.pair, nil // files that are being replaced are looked at again
	}
	c.read = now
	pair, err := c.load()
	if err != nil {
		c.log.Error("the renewed certificate is not used; the one before stays", "error", err)
		return c.pair, nil
	}
	c.log.Info("the renewed certificate is in use", "file", c.certFile)
	c.pair = pair
	return pair, nil
}

// loadTLS reads the certificate; nil without one.
func (o *ClassOptions) loadTLS(log *slog.Logger) (*tls.Config, error) {
	switch {
	case o == nil || o.TLSCert == "" && o.TLSKey == "":
		return nil, nil
	case o.TLSCert == "" || o.TLSKey == "":
		return nil, errors.New("--tls-cert and --tls-key belong together: give both")
	}
	c := &certificate{certFile: o.TLSCert, keyFile: o.TLSKey, log: log}
	c.read, _ = c.stamps() // a file that is not there fails to load
	var err error
	if c.pair, err = c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.show, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// tlsListener takes connections over TLS. Who speaks plain HTTP to it is led to https, for learners type addresses without.
type tlsListener struct {
	net.Listener
	config *tls.Config
}

// Accept waits for the next connection.
func (l *tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&maybePlain{Conn: c}, l.config), nil
}

// maybePlain is a connection of which it is not known yet whether it speaks TLS.
type maybePlain struct {
	net.Conn
	known bool
}

var errPlainHTTP = errors.New("plain HTTP, which was led to https")

// Read reads, and answers a first byte that begins a method of HTTP instead of a handshake. The server's deadline for
// handshakes holds for it too.
func (c *maybePlain) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.known || n == 0 {
		return n, err
	}
	c.known = true
	if b[0] < 'A' || b[0] > 'Z' {
		return n, err
	}
	c.leadToTLS(io.MultiReader(bytes.NewReader(b[:n]), c.Conn))
	return 0, errPlainHTTP
}

// mostPlain bounds what is read of a request over plain HTTP.
const mostPlain = 64 << 10

func (c *maybePlain) leadToTLS(r io.Reader) {
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(r, mostPlain)))
	if err != nil {
		return
	}
	there := url.URL{Scheme: "https", Host: req.Host, Path: req.URL.Path, RawQuery: req.URL.RawQuery}
	text := "This server speaks https: its address is " + (&url.URL{Scheme: "https", Host: req.Host}).String() + "\n"
	resp := http.Response{
		ProtoMajor: 1, ProtoMinor: 1, Request: req, Close: true, StatusCode: http.StatusBadRequest,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"no-store"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(bytes.NewReader([]byte(text))),
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		// Not a permanent one: the server may be without TLS the next time.
		resp.StatusCode = http.StatusTemporaryRedirect
		resp.Header.Set("Location", there.String())
	} else {
		_, _ = io.Copy(io.Discard, req.Body) // what is unread when a connection ends takes the answer with it
	}
	_ = resp.Write(c.Conn)
}
