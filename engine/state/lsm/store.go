package lsm

import (
	"errors"
	"fmt"
	"slices"

	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/trace"
)

// store is one state of the DB. It counts keys, entries and bytes by key group as they change. That needs to know what a
// write replaces: an operator mostly reads before it writes, and what was read is remembered as long as the key stays the
// current one; a write without a read before it reads first.
type store struct {
	b      *Backend
	id     uint16
	meta   state.Meta
	groups []groupCount // by key group, from the range's first

	turn uint64 // of the key context that the rest speaks of
	ns   state.Window
	had  bool // the key has a value,
	size int  // of so many bytes

	window [16]byte
}

// namespace serializes a namespace.
func (s *store) namespace(ns state.Window) Namespace {
	if s.meta.Namespace == state.NoNamespace {
		return VoidNamespace
	}
	putUint64(s.window[:8], uint64(ns.Start))
	putUint64(s.window[8:], uint64(ns.End))
	return Namespace{Bytes: s.window[:]}
}

func putUint64(b []byte, v uint64) {
	for i := range 8 {
		b[i] = byte(v >> (56 - 8*i))
	}
}

// begin checks that there is a current key and that its prefix is built.
func (s *store) begin() error {
	ctx := s.b.ctx
	if err := ctx.Check(); err != nil {
		return err
	}
	if s.b.closed {
		return errClosed
	}
	if t := ctx.Turn(); s.b.turn != t {
		s.b.turn = t
		s.b.key.SetKey(ctx.Group(), ctx.KeyType(), ctx.Key())
		s.b.db.access.PrefixBuilt++
	}
	return nil
}

func (s *store) plain(ns state.Window) state.Window {
	if s.meta.Namespace == state.NoNamespace {
		return state.Window{}
	}
	return ns
}

func (s *store) count() *groupCount { return &s.groups[s.b.ctx.Group()-s.b.o.KeyGroups.First] }

// remember keeps what is known of the current key's value.
func (s *store) remember(ns state.Window, had bool, size int) {
	s.turn, s.ns, s.had, s.size = s.b.turn, s.plain(ns), had, size
}

// known finds out what a write will replace.
func (s *store) known(ns state.Window, key []byte) error {
	if s.turn == s.b.turn && s.ns == s.plain(ns) {
		return nil
	}
	v, ok, err := s.b.db.get(key)
	if err != nil {
		return err
	}
	s.remember(ns, ok, len(v))
	return nil
}

// entryBytes are those of an entry in the canonical format, without the lengths before its parts.
func (s *store) entryBytes(key serde.Key, userKey, value int) int64 {
	n := state.KeyBytes(s.b.ctx.KeyType(), key) + userKey + value
	if s.meta.Namespace == state.WindowNamespace {
		n += 16
	}
	return int64(n)
}

// Get reads the value of the current key.
func (s *store) Get(ns state.Window) ([]byte, bool, error) {
	if err := s.begin(); err != nil {
		return nil, false, err
	}
	key := s.b.key.Namespace(s.id, s.namespace(ns))
	v, ok, err := s.b.db.get(key)
	if err == nil {
		s.remember(ns, ok, len(v))
	}
	if s.b.o.Tracer.On(trace.ValueRead) || s.b.o.Tracer.On(trace.CompositeKeyBuilt) {
		s.traceRead(key, ok, len(v))
	}
	return v, ok, err
}

// Put writes the value of the current key.
func (s *store) Put(ns state.Window, value []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	key := s.b.key.Namespace(s.id, s.namespace(ns))
	if s.b.o.Tracer.On(trace.CompositeKeyBuilt) {
		s.traceKey(key, nil)
	}
	if err := s.known(ns, key); err != nil {
		return err
	}
	if err := s.b.db.set(key, value); err != nil {
		return err
	}
	s.replaced(ns, len(value))
	return nil
}

// replaced counts that the current key's value has so many bytes now.
func (s *store) replaced(ns state.Window, size int) {
	c := s.count()
	if s.had {
		c.bytes += int64(size - s.size)
	} else {
		c.keys++
		c.entries++
		c.bytes += s.entryBytes(s.b.ctx.Key(), 0, size)
	}
	s.remember(ns, true, size)
}

// Append adds to the end of the value without reading it: a merge.
func (s *store) Append(ns state.Window, more []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	key := s.b.key.Namespace(s.id, s.namespace(ns))
	if err := s.known(ns, key); err != nil {
		return err
	}
	if err := s.b.db.merge(key, more); err != nil {
		return err
	}
	before := 0
	if s.had {
		before = s.size
	}
	s.replaced(ns, before+len(more))
	return nil
}

// Remove removes the value of the current key, of a map all entries.
func (s *store) Remove(ns state.Window) error {
	if err := s.begin(); err != nil {
		return err
	}
	if s.meta.Kind == state.KindMap {
		var failed error
		err := s.EachEntry(ns, func(userKey, _ []byte) bool {
			failed = s.RemoveEntry(ns, userKey)
			return failed == nil
		})
		return errors.Join(err, failed)
	}
	key := s.b.key.Namespace(s.id, s.namespace(ns))
	if err := s.known(ns, key); err != nil || !s.had {
		return err
	}
	if err := s.b.db.remove(key); err != nil {
		return err
	}
	c := s.count()
	c.keys--
	c.entries--
	c.bytes -= s.entryBytes(s.b.ctx.Key(), 0, s.size)
	s.remember(ns, false, 0)
	return nil
}

// GetEntry reads one entry of the current key's map.
func (s *store) GetEntry(ns state.Window, userKey []byte) ([]byte, bool, error) {
	if err := s.begin(); err != nil {
		return nil, false, err
	}
	key := s.b.key.UserKey(s.id, s.namespace(ns), userKey)
	v, ok, err := s.b.db.get(key)
	if s.b.o.Tracer.On(trace.ValueRead) || s.b.o.Tracer.On(trace.CompositeKeyBuilt) {
		s.traceKey(key, userKey)
		s.traceValue(key, ok, len(v))
	}
	return v, ok, err
}

// PutEntry writes one entry of the current key's map.
func (s *store) PutEntry(ns state.Window, userKey, value []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	key := s.b.key.UserKey(s.id, s.namespace(ns), userKey)
	if s.b.o.Tracer.On(trace.CompositeKeyBuilt) {
		s.traceKey(key, userKey)
	}
	old, had, err := s.b.db.get(key)
	if err != nil {
		return err
	}
	c := s.count()
	if !had {
		first, err := s.empty(ns)
		if err != nil {
			return err
		}
		if first {
			c.keys++
		}
		c.entries++
		c.bytes += s.entryBytes(s.b.ctx.Key(), len(userKey), len(value))
	} else {
		c.bytes += int64(len(value) - len(old))
	}
	return s.b.db.set(s.b.key.UserKey(s.id, s.namespace(ns), userKey), value)
}

// RemoveEntry removes one entry of the current key's map.
func (s *store) RemoveEntry(ns state.Window, userKey []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	old, had, err := s.b.db.get(s.b.key.UserKey(s.id, s.namespace(ns), userKey))
	if err != nil || !had {
		return err
	}
	c := s.count()
	c.entries--
	c.bytes -= s.entryBytes(s.b.ctx.Key(), len(userKey), len(old))
	if err := s.b.db.remove(s.b.key.UserKey(s.id, s.namespace(ns), userKey)); err != nil {
		return err
	}
	last, err := s.empty(ns)
	if last {
		c.keys--
	}
	return err
}

// empty tells whether the current key's map has no entry.
func (s *store) empty(ns state.Window) (bool, error) {
	prefix := slices.Clone(s.b.key.Namespace(s.id, s.namespace(ns)))
	it, err := s.b.db.iter(prefix, after(prefix))
	if err != nil {
		return false, err
	}
	none := !it.First()
	return none, it.Close()
}

// EachEntry goes through the current key's map in the order of its keys' bytes.
func (s *store) EachEntry(ns state.Window, f func(userKey, value []byte) bool) error {
	if err := s.begin(); err != nil {
		return err
	}
	prefix := slices.Clone(s.b.key.Namespace(s.id, s.namespace(ns)))
	return s.b.db.each(prefix, func(key, value []byte) bool { return f(key[len(prefix):], value) })
}

// each goes through the keys that begin with prefix, until f returns false.
func (d *db) each(prefix []byte, f func(key, value []byte) bool) error {
	it, err := d.iter(prefix, after(prefix))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			it.Close()
			return d.why(err)
		}
		if !f(it.Key(), v) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return d.why(err)
	}
	return nil
}

// Each goes through all keys by key group.
func (s *store) Each(f func(group int, key serde.Key, ns state.Window, userKey, value []byte) bool) error {
	if s.b.closed {
		return errClosed
	}
	more := true
	var failed error
	for g := range s.b.o.KeyGroups.All() {
		err := s.b.db.each(statePrefix(g, s.b.prefixBytes, s.id), func(key, value []byte) bool {
			k, ns, userKey, err := s.b.split(key, &s.meta)
			if err != nil {
				failed, more = err, false
			} else {
				more = f(g, k, ns, userKey, value)
			}
			return more
		})
		if err := errors.Join(err, failed); err != nil || !more {
			return err
		}
	}
	return nil
}

// Keys lists the keys that have a value in the namespace.
func (s *store) Keys(ns state.Window) ([]serde.Key, error) {
	ns = s.plain(ns)
	var keys []serde.Key
	err := s.Each(func(_ int, key serde.Key, n state.Window, _, _ []byte) bool {
		if n == ns && (len(keys) == 0 || keys[len(keys)-1] != key) {
			key.Str = string([]byte(key.Str))
			keys = append(keys, key)
		}
		return true
	})
	return keys, err
}

// Entries counts values, of a map its entries.
func (s *store) Entries() int64 { return s.total().entries }

func (s *store) total() (t groupCount) {
	for _, c := range s.groups {
		t.keys += c.keys
		t.entries += c.entries
		t.bytes += c.bytes
	}
	return t
}

// statePrefix is what all keys of a state in a key group begin with.
func statePrefix(group, prefixBytes int, id uint16) []byte {
	return append(AppendKeyGroup(make([]byte, 0, 4), group, prefixBytes), byte(id>>8), byte(id))
}

// split takes a key of the DB apart; the results are views of it. A string key that is not ASCII is decoded.
func (b *Backend) split(key []byte, m *state.Meta) (k serde.Key, ns state.Window, userKey []byte, err error) {
	rest := key[min(len(key), b.prefixBytes+StateIDBytes):]
	if k, rest, err = serde.ReadKey(rest, b.ctx.KeyType()); err != nil {
		return k, ns, nil, fmt.Errorf("state %q: key %x in the store: %w", m.Name, key, err)
	}
	n := len(VoidNamespace.Bytes)
	if m.Namespace == state.WindowNamespace {
		n = 16
	}
	if len(rest) < n {
		return k, ns, nil, fmt.Errorf("state %q: key %x in the store ends inside its namespace", m.Name, key)
	}
	if n == 16 {
		ns = state.Window{Start: int64(uint64At(rest)), End: int64(uint64At(rest[8:]))}
	}
	if m.Kind == state.KindMap {
		userKey = rest[n:]
	}
	return k, ns, userKey, nil
}

func uint64At(b []byte) (v uint64) {
	for _, c := range b[:8] {
		v = v<<8 | uint64(c)
	}
	return v
}
