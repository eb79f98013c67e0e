package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

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
