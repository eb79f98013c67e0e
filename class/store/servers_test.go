package store

import (
	"bytes"
	"sync"
	"testing"

	"weir/class"
)

func TestServers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		second := opened(t, url)
		c := aClass(t, s)
		o := class.Session{ID: "run", Class: c.ID, Server: "one", Lab: "backpressure", Knobs: map[string]any{"rate": 5.0}, Started: noon}
		ok(t, s.PutSession(ctx, o))
		kept, v, err := second.SessionServer(ctx, "run")
		ok(t, err)
		same(t, kept, o)
		same(t, v, class.Server{ID: "one"}) // not known yet

		one := class.Server{ID: "one", URL: "http://192.0.2.1:8090", Seen: noon}
		ok(t, s.PutServer(ctx, one))
		ok(t, second.PutServer(ctx, class.Server{ID: "two", URL: "https://b.test", Pin: "ab", Seen: noon}))
		_, v, err = second.SessionServer(ctx, "run")
		ok(t, err)
		same(t, v, one)
		one.URL, one.Seen = "http://192.0.2.9:8090", noon.Add(forgottenAfter+1e9)
		ok(t, s.PutServer(ctx, one))
		same(t, got(s.Servers(ctx))(t), []class.Server{one}) // the other has given no sign for too long
		ok(t, second.DeleteServer(ctx, "one"))
		ok(t, second.DeleteServer(ctx, "one"))
		if left := got(s.Servers(ctx))(t); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
		_, _, err = s.SessionServer(ctx, "another")
		refused(t, err, class.ErrNotFound)
		refused(t, s.PutServer(ctx, class.Server{ID: "three"}), class.ErrInvalid)
	})
}

// All servers that start at once have the same secret, and another name is another secret.
func TestSecret(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		second := opened(t, url)
		values := make([][]byte, 8)
		errs := make([]error, len(values))
		var all sync.WaitGroup
		for i := range values {
			all.Go(func() { values[i], errs[i] = []*Store{s, second}[i%2].Secret(ctx, "servers") })
		}
		all.Wait()
		for i, err := range errs {
			ok(t, err)
			if len(values[i]) != secretBytes || !bytes.Equal(values[i], values[0]) {
				t.Errorf("one asked and got %d bytes, which differ from the first's: %v", len(values[i]), !bytes.Equal(values[i], values[0]))
			}
		}
		if other := got(s.Secret(ctx, "others"))(t); bytes.Equal(other, values[0]) {
			t.Error("two secrets are one")
		}
	})
}
