package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

var errNoWebsocket = errors.New("not a websocket")

// accept turns a request into a websocket. One that does not ask for it is answered with a problem, as all that is refused.
func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	h := r.Header
	if r.Method != http.MethodGet || !hasToken(h, "Connection", "upgrade") || !hasToken(h, "Upgrade", "websocket") ||
		h.Get("Sec-WebSocket-Version") != "13" || h.Get("Sec-WebSocket-Key") == "" {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Version", "13")
		newProblem(http.StatusUpgradeRequired, "Upgrade", "this address is a websocket of version 13: open it as one").write(w)
		return nil, errNoWebsocket
	}
	return websocket.Accept(w, r, nil)
}

// hasToken tells whether a header that is a list of words has one of them.
func hasToken(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// readNothing reads on where a viewer has nothing to send, so that pongs and the end of a connection are seen. Who sends a
// message all the same is told so and let go at once. The context ends with the connection.
func readNothing(ctx context.Context, conn *websocket.Conn) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		if _, _, err := conn.Reader(ctx); err == nil {
			_ = conn.Close(websocket.StatusPolicyViolation, "nothing is to be sent here")
		}
		_ = conn.CloseNow()
	}()
	return ctx
}

// keepAlive asks now and then whether the other end is still there, and calls cancel where it does not answer: one whose
// machine sleeps must not hold a thread, or be waited for, for ever.
func keepAlive(ctx context.Context, cancel func(), conn *websocket.Conn, every time.Duration) {
	defer cancel()
	for pauseFor(ctx, every) {
		pctx, done := context.WithTimeout(ctx, every)
		err := conn.Ping(pctx)
		done()
		if err != nil {
			return
		}
	}
}

// writeText sends a message to a reader who has to take it within the write deadline.
func writeText(ctx context.Context, conn *websocket.Conn, b []byte) error {
	ctx, done := context.WithTimeout(ctx, writeDeadline)
	defer done()
	return conn.Write(ctx, websocket.MessageText, b)
}

// pauseFor waits, and tells whether it was to the end.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
