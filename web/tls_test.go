package web

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// keyPair is where a test has the two files of a certificate.
type keyPair struct{ cert, key string }

func newKeyPair(t *testing.T) keyPair {
	t.Helper()
	dir := t.TempDir()
	return keyPair{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

// write makes a certificate for this machine with a serial number, and writes the files as of a time. The pool trusts it.
func (p keyPair) write(t *testing.T, serial int64, at time.Time) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// A certificate of any moment that a test takes for now.
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"weir.test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{p.cert: {Type: "CERTIFICATE", Bytes: der}, p.key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return pool
}

// A class over TLS: pages, cookies and streams go over it, and plain HTTP to its port is led there.
func TestServeOverTLS(t *testing.T) {
	p := newKeyPair(t)
	pool := p.write(t, 1, time.Now())
	s := serveClassWith(t, filepath.Join(t.TempDir(), "data"), io.Discard, ClassOptions{TLSCert: p.cert, TLSKey: p.key})
	defer s.stop()
	for what, address := range map[string]string{"the server": s.base, "the instructor's link": s.link, "the join address": s.join} {
		if !strings.HasPrefix(address, "https://127.0.0.1:") {
			t.Errorf("%s is %s", what, address)
		}
	}
	jar, _ := cookiejar.New(nil)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Jar: jar, Transport: transport}
	do := func(method, path, body string, to any) *http.Response {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", s.base)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		if to != nil {
			if err := json.Unmarshal(b, to); err != nil {
				t.Fatalf("%v in %d %s", err, resp.StatusCode, b)
			}
		}
		return resp
	}
	page := do("GET", "/class", "", nil)
	if page.StatusCode != 200 || page.TLS == nil || page.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("the page: %d, with %v", page.StatusCode, page.Header)
	}
	var me classMe
	joined := do("POST", "/api/v1/class/join", `{"code":"`+s.code+`","name":"Ann"}`, &me)
	if c := joined.Cookies(); len(c) != 1 || !c[0].Secure || !c[0].HttpOnly {
		t.Errorf("cookies %v, want one that goes over TLS alone", c)
	}
	if !strings.HasPrefix(me.Link, s.base+"/class/p/") {
		t.Errorf("the personal link is %s", me.Link)
	}
	var started struct{ ID string }
	if resp := do("POST", "/api/v1/sessions", `{"lab":"backpressure"}`, &started); resp.StatusCode != 201 {
		t.Fatal(resp.Status)
	}
	c, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(s.base, "https")+"/api/v1/sessions/"+started.ID+"/stream",
		&websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Origin": {s.base}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(1 << 20)
	if first := read(t, c); first["session"] != started.ID || first["lab"] != "backpressure" {
		t.Errorf("the stream begins with %v %v", first["session"], first["lab"])
	}
	if resp := do("DELETE", "/api/v1/sessions/"+started.ID, "", nil); resp.StatusCode != 204 {
		t.Error(resp.Status)
	}

	plain := "http" + strings.TrimPrefix(s.base, "https")
	noFollow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := noFollow.Get(plain + "/class?code=7K2M&x=%20")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusTemporaryRedirect || got != s.base+"/class?code=7K2M&x=%20" {
		t.Errorf("a page over plain HTTP: %d to %q", resp.StatusCode, got)
	}
	resp, err = noFollow.Post(plain+"/api/v1/class/join", "application/json", strings.NewReader(`{"code":"`+s.code+`","name":"Ben"}`))
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), "its address is "+s.base) || len(resp.Cookies()) != 0 {
		t.Errorf("joining over plain HTTP: %d %s", resp.StatusCode, said)
	}
}

// Files that were renewed are shown to the next connection; those that cannot be used leave the one before.
func TestRenewedCertificateIsPickedUp(t *testing.T) {
	p := newKeyPair(t)
	day := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	p.write(t, 1, day)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		config, err := (&ClassOptions{TLSCert: p.cert, TLSKey: p.key}).loadTLS(slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		serial := func() int64 {
			t.Helper()
			time.Sleep(certificateEvery)
			shown, err := config.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			return shown.Leaf.SerialNumber.Int64()
		}
		if n := serial(); n != 1 || log.Len() != 0 {
			t.Errorf("certificate %d; %s", n, &log)
		}
		p.write(t, 2, day.Add(time.Hour))
		if n := serial(); n != 2 {
			t.Errorf("after the renewal certificate %d is shown", n)
		}
		if err := os.WriteFile(p.cert, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		for range 3 {
			if n := serial(); n != 2 {
				t.Errorf("after one that cannot be read certificate %d is shown", n)
			}
		}
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "the one before stays") {
			t.Errorf("one bad renewal: %q", said)
		}
		if err := os.Remove(p.key); err != nil {
			t.Fatal(err)
		}
		if n := serial(); n != 2 {
			t.Errorf("without a key certificate %d is shown", n)
		}
		p.write(t, 3, day.Add(2*time.Hour))
		if n := serial(); n != 3 {
			t.Errorf("after the next renewal certificate %d is shown", n)
		}
	})
}

func TestServeRefusesCertificates(t *testing.T) {
	p, other := newKeyPair(t), newKeyPair(t)
	p.write(t, 1, time.Now())
	other.write(t, 2, time.Now())
	for _, c := range []struct {
		pair keyPair
		says []string
	}{
		{keyPair{p.cert, other.key}, []string{p.cert, other.key, "does not match"}},
		{keyPair{p.key, p.cert}, []string{p.key}},
		{keyPair{p.cert, p.key + ".none"}, []string{p.key + ".none", "no such file"}},
		{keyPair{cert: p.cert}, []string{"give both"}},
	} {
		err := Serve(context.Background(), Options{Addr: "127.0.0.1:0", DataDir: t.TempDir(), Class: &ClassOptions{TLSCert: c.pair.cert, TLSKey: c.pair.key}})
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want one line", c.pair, err)
			continue
		}
		for _, want := range append(c.says, "--tls-cert") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q in it", c.pair, err, want)
			}
		}
	}
}

// What a proxy is reached by is printed as browsers have to type it.
func TestBaseAddresses(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8090}
	for _, c := range []struct {
		host string
		tls  bool
		want string
	}{
		{"lab.example.org:443", false, "https://lab.example.org"}, {"lab.example.org:443", true, "https://lab.example.org"},
		{"lab.example.org:8000", false, "http://lab.example.org:8000"}, {"lab.example.org:8443", true, "https://lab.example.org:8443"},
		{"lab.example.org", false, "http://lab.example.org:8090"}, {"lab.example.org", true, "https://lab.example.org:8090"},
	} {
		if got := baseAddresses(at, []string{c.host}, c.tls)[0]; got != c.want {
			t.Errorf("--host %s, TLS %v: %s, want %s", c.host, c.tls, got, c.want)
		}
	}
}
