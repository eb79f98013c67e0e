package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"

	"weir/class"
	"weir/labs"
)

// forwardedHeaders are what another server gets of a request besides the statement: no cookie and no token leaves.
var forwardedHeaders = []string{"Accept", "Accept-Language", "Content-Type", "Connection", "Upgrade",
	"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol"}

// handOn has the server that runs a session answer a request for it: knobs, actions, panels, the trace. It is false for a
// session that is here, or nowhere: that is answered here. The stream is not handed on but followed, once for all who look.
func (s *Server) handOn(w http.ResponseWriter, r *http.Request, who *caller, id string) bool {
	if who.via != "" || strings.HasSuffix(r.URL.Path, "/stream") {
		return false
	}
	if _, err := s.sessions.get(id); err == nil {
		return false
	}
	row, to, err := s.elsewhere(r.Context(), who, id)
	if errors.Is(err, errNoSession) {
		return false
	}
	if err != nil {
		problemOf(err).write(w)
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostForwarded))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			newProblem(http.StatusRequestEntityTooLarge, "body", "larger than the 1 MiB that are allowed").write(w)
			return true
		}
		newProblem(http.StatusBadRequest, "body", "it broke off, or it is not what is taken here: "+err.Error()).write(w)
		return true
	}
	s.forward(w, r, to, body, class.HashToken(who.token), row.ID)
	return true
}

func (s *Server) forward(w http.ResponseWriter, r *http.Request, to *way, body, hash []byte, id string) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var stated *statement
	proxy := httputil.ReverseProxy{
		Transport: to.transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to.base)
			kept := http.Header{}
			for _, name := range forwardedHeaders {
				if v := p.Out.Header.Values(name); len(v) > 0 {
					kept[name] = v
				}
			}
			p.Out.Header = kept
			p.Out.Body, p.Out.ContentLength = http.NoBody, 0
			if len(body) > 0 {
				p.Out.Body, p.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}
			stated = s.course.trust.state(to.ID, p.Out.Method, p.Out.URL.RequestURI(), body, hash)
			p.Out.Header.Set(statementHeader, stated.String())
		},
		ModifyResponse: func(resp *http.Response) error {
			if !s.course.trust.proves(stated, resp.Header) {
				s.log.Warn("what answers at the address of another server is not it, or does not take this one's word", "server", to.ID, "address", to.URL, "status", resp.StatusCode)
				return errServerAway
			}
			// What this server says of its answers stands already.
			for name := range w.Header() {
				resp.Header.Del(name)
			}
			resp.Header.Del(proofHeader)
			resp.Header.Del("Set-Cookie")
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				s.log.Debug("another server does not answer", "server", to.ID, "session", id, "error", err)
			}
			errServerAway.write(w)
		},
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// recordElsewhere gets the record of a learner's own run from the server that runs it, as work to judge. It came over the
// trust of the servers, and so it is signed here as one of this server's own.
func (s *Server) recordElsewhere(ctx context.Context, who *caller, id string) ([]byte, error) {
	row, to, err := s.elsewhere(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if !who.mine(belongs{row.Class, row.Person}) {
		return nil, errNoSession
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	target := "/api/v1/sessions/" + row.ID + "/record"
	stated := s.course.trust.state(to.ID, http.MethodGet, target, nil, class.HashToken(who.token))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.base.String()+target, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set(statementHeader, stated.String())
	resp, err := to.transport.RoundTrip(req)
	if err != nil {
		return nil, errServerAway
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case !s.course.trust.proves(stated, resp.Header):
		return nil, errServerAway
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNoSession
	case resp.StatusCode != http.StatusOK:
		return nil, errServerAway
	}
	record, _, err := labs.ReadRecord(io.LimitReader(resp.Body, mostPicture))
	if err != nil {
		return nil, errServerAway
	}
	var b bytes.Buffer
	err = record.Write(&b, s.signKey)
	return b.Bytes(), err
}
