package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// follow opens a stream, with a cookie unless that is empty, and reads its first message, the whole picture.
func follow(ctx context.Context, client *http.Client, url, cookie string) (*websocket.Conn, error) {
	o := &websocket.DialOptions{HTTPClient: client}
	if cookie != "" {
		o.HTTPHeader = http.Header{"Cookie": {cookie}}
	}
	c, resp, err := websocket.Dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	_ = resp // a websocket's has no body
	c.SetReadLimit(4 << 20)
	if _, _, err := c.Read(ctx); err != nil {
		_ = c.CloseNow()
		return nil, err
	}
	return c, nil
}

// countMessages reads on, and counts from counting until over.
func countMessages(ctx context.Context, c *websocket.Conn, counting, over <-chan struct{}) (v viewerCount) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	var last time.Time
	for {
		_, r, err := c.Reader(ctx)
		if err == nil {
			var n int64
			n, err = io.Copy(io.Discard, r)
			select {
			case <-over:
			case <-counting:
				now := time.Now()
				if !last.IsZero() {
					v.gap = max(v.gap, now.Sub(last))
				}
				last = now
				v.messages, v.bytes = v.messages+1, v.bytes+n
			default:
			}
		}
		if err != nil {
			select {
			case <-over:
			default:
				v.err = err
			}
			return v
		}
	}
}
