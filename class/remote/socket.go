package remote

import (
	"context"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// mostMessage bounds one message of a stream: the whole picture of a large job has some hundred KB.
const mostMessage = 4 << 20

// Dial opens a websocket of the server. Its refusal is a *Refusal, as that of Do is.
func (c *Client) Dial(ctx context.Context, path string) (*websocket.Conn, error) {
	h := http.Header{}
	c.sign(h)
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.server, "http")+path, &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: h})
	switch {
	case err == nil:
		conn.SetReadLimit(mostMessage)
		return conn, nil
	case resp == nil:
		return nil, c.explain(err)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil, c.elsewhere(resp.Header.Get("Location"))
	}
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if refused := a.Refused(); refused != nil {
		return nil, refused
	}
	return nil, c.explain(err) // a success that is no websocket
}
