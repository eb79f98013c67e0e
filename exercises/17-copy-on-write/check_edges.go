package copyonwrite

import (
	"context"

	"weir/exercises/17-copy-on-write/api"
	"weir/exercises/history"
	"weir/exercises/kit"
)

// edges are what a history meets rarely: a snapshot of nothing, a key that is removed and comes back while a snapshot holds
// it, and snapshots that are released from the oldest and from the middle.
func edges(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	put, get, change := func(k, n int64) step { return step{api.Put, k, n} }, func(k int64) step { return step{api.Get, k, 0} }, func(k, n int64) step { return step{api.Change, k, n} }
	take, read, release := func(s int64) step { return step{api.Take, s, 0} }, func(s int64) step { return step{api.Read, s, 0} }, func(s int64) step { return step{api.Release, s, 0} }
	length, remove := step{api.Len, 0, 0}, func(k int64) step { return step{api.Remove, k, 0} }
	return history.Check(ctx, w, []step{
		// A snapshot of nothing stays one, and asks for no copies.
		length, take(1), put(1, 10), read(1), get(1), change(1, 11), read(1), release(1),
		// The key goes and comes back: the snapshot has the old value, the new one is nobody else's.
		take(2), remove(1), get(1), length, put(1, 12), get(1), change(1, 13), read(2), remove(1), remove(1), length, read(2), release(2),
		// Three are open; the oldest goes first, then the one in the middle.
		put(1, 20), put(2, 30), take(3), change(1, 21), take(4), change(2, 31), take(5), get(1), get(2), read(3), read(4), read(5),
		release(3), change(1, 22), read(4), release(4), get(1), get(2), change(2, 32), read(5), release(5), get(1), get(2), length,
	}, play(w), where, try)
}
