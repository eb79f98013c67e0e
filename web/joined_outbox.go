package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/class/remote"
	"weir/whole"
)

// unsent is a result that waits to be handed in.
type unsent struct {
	ID     string          `json:"id"`
	Member string          `json:"member"` // whose it is
	At     time.Time       `json:"at"`
	Body   json.RawMessage `json:"body"`
	// Refused is why the class will not take it; it is tried once more at the next start.
	Refused string `json:"refused,omitempty"`
}

// outcome is what came of handing a result in: an answer, or a refusal for good.
type outcome struct {
	answer  *remote.Answer
	refused *remote.Refusal
}

// outbox keeps results on the disk, each under the id made before it is sent, until the class has said that it keeps them.
// Sent twice, a result is kept once there: so whatever is in doubt is sent again.
type outbox struct {
	dir  string
	kick chan struct{} // something is to be sent

	mu    sync.Mutex
	by    map[string]*unsent // without bodies
	watch map[string][]chan outcome
}

func openOutbox(dir string) (*outbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b := &outbox{dir: dir, kick: make(chan struct{}, 1), by: map[string]*unsent{}, watch: map[string][]chan outcome{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !validID(id) {
			continue
		}
		u, err := b.read(id)
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: %w: it is a result that was not sent yet: move it away to go on without it", b.path(id), err)
		}
		u.Body = nil
		b.by[id] = u
	}
	return b, nil
}

func (b *outbox) path(id string) string { return filepath.Join(b.dir, id+".json") }

func (b *outbox) read(id string) (*unsent, error) {
	raw, err := os.ReadFile(b.path(id))
	if err != nil {
		return nil, err
	}
	var u unsent
	return &u, json.Unmarshal(raw, &u)
}

// add writes a result down and has it sent. The channel gets what comes of it; forget lets go of it.
func (b *outbox) add(member, id string, body []byte) (<-chan outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.by[id]
	if u == nil || u.Member != member || u.Refused != "" {
		u = &unsent{ID: id, Member: member, At: time.Now().UTC()}
		if err := b.write(*u, body); err != nil {
			return nil, fmt.Errorf("the result is not kept on this machine: %w", err)
		}
		b.by[id] = u
	}
	c := make(chan outcome, 1)
	b.watch[id] = append(b.watch[id], c)
	b.hurry()
	return c, nil
}

func (b *outbox) write(u unsent, body []byte) error {
	u.Body = body
	raw, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return whole.Write(b.path(u.ID), raw)
}

// forget lets go of a channel that add gave.
func (b *outbox) forget(id string, c <-chan outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch[id] = slices.DeleteFunc(b.watch[id], func(w chan outcome) bool { return w == c })
	if len(b.watch[id]) == 0 {
		delete(b.watch, id)
	}
}

// hurry has the sender look at once.
func (b *outbox) hurry() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// waiting counts a member's results that are to be sent.
func (b *outbox) waiting(member string) int { return len(b.of(member)) }

// of lists a member's results that are to be sent, oldest first.
func (b *outbox) of(member string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*unsent
	for _, u := range b.by {
		if u.Member == member && u.Refused == "" {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(x, y *unsent) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.ID, y.ID))
	})
	ids := make([]string, len(list))
	for i, u := range list {
		ids[i] = u.ID
	}
	return ids
}

// retry has those of a member tried again that were refused.
func (b *outbox) retry(member string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.by {
		if u.Member == member {
			u.Refused = ""
		}
	}
	b.hurry()
}

// settle notes what came of a result: one that is kept by the class is not kept here any longer.
func (b *outbox) settle(id string, o outcome) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if o.refused != nil {
		if u, rerr := b.read(id); rerr == nil && b.by[id] != nil {
			b.by[id].Refused = o.refused.Error()
			u.Refused = o.refused.Error()
			err = b.write(*u, u.Body)
		}
	} else {
		delete(b.by, id)
		if err = os.Remove(b.path(id)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	for _, c := range b.watch[id] {
		c <- o // each has room for one
	}
	delete(b.watch, id)
	return err
}

// send hands in what waits, one result after the other, until ctx ends. After a failure it waits, longer each time and
// spread at random.
func (j *joined) send(ctx context.Context) {
	wait := j.first
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.box.kick:
		case <-retry.C:
		}
		err := j.sendAll(ctx)
		retry.Stop()
		if err == nil {
			wait = j.first
			continue
		}
		var r *remote.Refusal
		pause := remote.Spread(wait)
		if errors.As(err, &r) {
			pause += r.RetryAfter
		}
		j.log.Debug("results wait", "reason", err, "for", pause)
		retry.Reset(pause)
		wait = min(3*j.longest, 2*wait)
	}
}

// refusedForGood are the answers to a result that will not change by itself: it is no result, or it comes too late. Any
// other may be a server that is just being restarted, or what stands before it.
var refusedForGood = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// sendAll hands in what waits, until one is not taken now. Nothing is sent by somebody whom the class knows no more.
func (j *joined) sendAll(ctx context.Context) error {
	m, _, link, _ := j.state()
	if m == nil || link == linkRevoked {
		return nil
	}
	for _, id := range j.box.of(m.ID) {
		u, err := j.box.read(id)
		if err != nil {
			return err
		}
		answer, err := j.as(m).HandIn(ctx, u.Body)
		var refused *remote.Refusal
		if err != nil && (!errors.As(err, &refused) || !slices.Contains(refusedForGood, refused.Status)) {
			return err
		}
		if err := j.box.settle(id, outcome{answer, refused}); err != nil {
			return err
		}
		if refused != nil {
			j.log.Warn("the class does not take a result", "result", id, "reason", refused)
		} else {
			j.log.Info("result handed in", "result", id)
		}
	}
	return nil
}

// handIn keeps a result until the class has it. ok is false where the class has not answered in time: then it waits.
func (j *joined) handIn(ctx context.Context, m *membership, id string, body []byte) (o outcome, ok bool, err error) {
	c, err := j.box.add(m.ID, id, body)
	if err != nil {
		return o, false, err
	}
	defer j.box.forget(id, c)
	if _, _, link, _ := j.state(); link != linkUp {
		return o, false, nil
	}
	t := time.NewTimer(j.patience)
	defer t.Stop()
	select {
	case o = <-c:
		return o, true, nil
	case <-t.C:
	case <-ctx.Done():
	}
	return o, false, nil
}

// empty removes all that waits of a member.
func (b *outbox) empty(member string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for id, u := range b.by {
		if u.Member == member {
			delete(b.by, id)
			errs = append(errs, os.Remove(b.path(id)))
		}
	}
	return errors.Join(errs...)
}
