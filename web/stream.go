package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Rules of a stream. Two limits guard the server from a reader that is slow or gone: a write that takes longer than
// writeDeadline ends the connection, and a message is sent only while few of those before are unread, so that a slow reader
// gets the newest picture and never a backlog. What is unread shows by pings sent behind the messages: a reader answers
// them in order.
const (
	defaultHz     = 10
	maxHz         = 30
	writeDeadline = 5 * time.Second
	pingEvery     = 20 * time.Second
	// pongPatience is how long a reader may stand still before it counts as gone.
	pongPatience = time.Minute
	// muteAfter is when a reader that has answered no ping at all is taken for one that never will. It is then sent
	// everything, with the write deadline alone to guard it.
	muteAfter = 5 * time.Second
)

var errReaderGone = errors.New("the reader took nothing for a minute")

// hz reads ?hz=, 1 to 30.
func hz(r *http.Request) (int, error) {
	v := r.URL.Query().Get("hz")
	if v == "" {
		return defaultHz, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxHz {
		return 0, newProblem(http.StatusUnprocessableEntity, "hz", "give a whole number from 1 to 30, not "+strconv.Quote(v))
	}
	return n, nil
}

// stream sends a session's pictures over a websocket until the reader goes, the session ends or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	rate, err := hz(r)
	if err != nil {
		problemOf(err).write(w)
		return
	}
	sess, err := s.session(r.Context(), r.PathValue("id"), toLook)
	if errors.Is(err, errNoSession) {
		row, to, eerr := s.elsewhere(r.Context(), callerOf(r.Context()), r.PathValue("id"))
		if eerr == nil {
			s.streamElsewhere(w, r, row, to, rate)
			return
		}
		err = eerr
	}
	if err != nil {
		problemOf(err).write(w)
		return
	}
	leave, refused := s.socket(r)
	if refused != nil {
		refused.write(w)
		return
	}
	defer leave()
	conn, err := accept(w, r)
	if err != nil {
		return // accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	sess.viewers.Add(1)
	defer sess.viewers.Add(-1)
	s.streams.opened.Add(1)
	ctx, cancel := context.WithCancel(readNothing(s.ctx, conn))
	defer cancel()
	if who := callerOf(r.Context()); !who.mine(sess.of()) && who.Kind != anotherServer {
		go s.whileAllowed(ctx, cancel, who, func() bool { return s.mayStillLook(ctx, who, sess.id) })
	}

	v := s.viewer(conn, &sess.frames, rate)
	err = v.pump(ctx, sess)
	switch {
	case s.ctx.Err() != nil:
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
	case err == nil:
		_ = conn.Close(websocket.StatusNormalClosure, "the session was ended")
	default:
		s.log.Debug("stream ended", "session", sess.id, "reason", err)
	}
}

// pictures are where a viewer's come from: a session of this server, or one of another that is followed.
type pictures interface {
	// newest gives a picture that is no older than maxAge if it can be had, and whether it was taken by this call.
	newest(maxAge time.Duration) (latest *frame, taken bool, err error)
}

// viewer is one reader of a session's stream.
type viewer struct {
	conn     *websocket.Conn
	of       pictures
	counts   *streamCounts
	interval time.Duration
	window   int32 // messages that may be unread

	began   time.Time
	unread  atomic.Int32
	pongs   atomic.Int64 // UnixNano of the last answer
	skipped int64
	seen    *frame
}

func (s *Server) viewer(conn *websocket.Conn, of pictures, rate int) *viewer {
	return &viewer{conn: conn, of: of, counts: &s.streams, interval: time.Second / time.Duration(rate), window: int32(max(3, rate/3)), began: time.Now()}
}

// pump sends until ctx ends. It returns nil once the session is over and its last picture sent.
func (v *viewer) pump(ctx context.Context, sess *session) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	due := time.Now()
	for {
		over := sess.gone()
		if now := time.Now(); v.mute(now) || v.unread.Load() < v.window {
			if late := int64(now.Sub(due) / v.interval); late > 0 && v.seen != nil {
				v.skipped += late
				v.counts.dropped.Add(late)
			}
			due = nextBeat(sess.started, now, v.interval)
			if err := v.send(ctx); err != nil {
				return err
			}
		} else if now.Sub(v.answered()) > pongPatience {
			return errReaderGone
		}
		if over {
			return nil
		}
		tick.Reset(time.Until(nextBeat(sess.started, time.Now(), v.interval)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// answered is when the reader last answered a ping, or began to read.
func (v *viewer) answered() time.Time {
	if last := v.pongs.Load(); last > 0 {
		return time.Unix(0, last)
	}
	return v.began
}

// mute tells whether this reader answers no pings.
func (v *viewer) mute(now time.Time) bool {
	return v.pongs.Load() == 0 && now.Sub(v.began) > muteAfter
}

// send writes what is new, if anything is, and a ping behind it.
func (v *viewer) send(ctx context.Context) error {
	f, taken, err := v.of.newest(v.interval / 2)
	if err != nil {
		return err
	}
	if taken {
		v.counts.pictures.Add(1)
	}
	b, err := f.message(v.seen, v.skipped)
	if err != nil {
		return err
	}
	quiet := time.Since(v.answered()) > pingEvery
	if b == nil && !quiet {
		return nil
	}
	if b != nil {
		if err := writeText(ctx, v.conn, b); err != nil {
			return err
		}
		v.counts.messages.Add(1)
		v.counts.bytes.Add(int64(len(b)))
		v.seen, v.skipped = f, 0
	}
	if v.mute(time.Now()) {
		return nil
	}
	v.unread.Add(1)
	go func() {
		pctx, cancel := context.WithTimeout(ctx, pongPatience)
		defer cancel()
		if v.conn.Ping(pctx) == nil {
			v.pongs.Store(time.Now().UnixNano())
		}
		v.unread.Add(-1)
	}()
	return nil
}
