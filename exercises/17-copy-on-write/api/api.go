// Package api is what you write against: a map that can be snapshotted at once, and written on while the snapshot is read.
package api

import "weir/exercises/kit/wire"

// Value is a value of the map. Whoever holds one may change it in place.
type Value struct{ N int64 }

// Copy is a new Value that holds the same.
func (v *Value) Copy() *Value { return &Value{v.N} }

// Map is Flink's CopyOnWriteStateMap with long keys, without its hash table: a Go map may do that part.
type Map interface {
	// Get is the value under a key, nil if there is none. The caller may change it in place: the map must show the change,
	// and no snapshot may. Without an open snapshot that holds it, it is the very value that is there.
	Get(key int64) *Value
	// Put sets the value under a key: v itself, not a copy of it.
	Put(key int64, v *Value)
	// Remove takes a key out; one that is not there is no mistake.
	Remove(key int64)
	// Len is the number of keys.
	Len() int
	// Snapshot is the map as it is now. It copies no value: that is put off until somebody asks for one.
	Snapshot() Snapshot
	// Release ends a snapshot, which is not read after that. What only it held needs no more copies.
	Release(s Snapshot)
}

// Snapshot is a map as it was. It is read while the map is written.
type Snapshot interface {
	// Len is the number of keys then.
	Len() int
	// At is the entry at a place from 0 to Len-1; the order is yours, as long as it stays. The reader changes nothing.
	At(i int) (key int64, v *Value)
}

// The methods of a call, and what Do can be told.
const (
	Begin = iota // anew
	Do           // any number of steps, each a code and its arguments
)

// The steps.
const (
	Put     = iota // key, number
	Get            // key
	Change         // key, number: gets the value and changes it in place
	Remove         // key
	Len            //
	Add            // key: adds one in place, or puts a one
	Take           // name: a snapshot
	Size           // name: how many entries it has
	At             // name, place
	Read           // name: all entries
	Release        // name
)

// checked is a map under the eyes of the checker, which tells values apart by where they lie: the first one that it sees is
// object 1, the next one object 2.
type checked struct {
	m         Map
	snapshots map[int64]Snapshot
	objects   map[*Value]int64
	w         wire.Writer
}

// tell writes a value: whether there is one, what it holds, which object it is.
func (c *checked) tell(v *Value) {
	c.w.Bool(v != nil)
	if v == nil {
		return
	}
	if c.objects[v] == 0 {
		c.objects[v] = int64(len(c.objects) + 1)
	}
	c.w.Int(v.N)
	c.w.Int(c.objects[v])
}

func (c *checked) at(s Snapshot, i int) {
	key, v := s.At(i)
	c.w.Int(key)
	c.tell(v)
}

// Dispatch makes the function that takes the checker's calls.
func Dispatch(newMap func() Map) func(method uint32, args []byte) []byte {
	var c *checked
	return func(method uint32, args []byte) []byte {
		if method == Begin || c == nil {
			c = &checked{m: newMap(), snapshots: map[int64]Snapshot{}, objects: map[*Value]int64{}}
		}
		c.w.B = nil
		for r := (&wire.Reader{B: args}); len(r.B) > 0; {
			c.step(r)
		}
		return c.w.B
	}
}

func (c *checked) step(r *wire.Reader) {
	code, a := r.Int(), r.Int()
	switch code {
	case Put:
		v := &Value{r.Int()}
		c.m.Put(a, v)
		c.tell(v)
	case Get:
		c.tell(c.m.Get(a))
	case Change:
		n := r.Int()
		v := c.m.Get(a)
		if v != nil {
			v.N = n
		}
		c.tell(v)
	case Remove:
		c.m.Remove(a)
	case Len:
		c.w.Int(int64(c.m.Len()))
	case Add:
		if v := c.m.Get(a); v != nil {
			v.N++
		} else {
			c.m.Put(a, &Value{1})
		}
	case Take:
		c.snapshots[a] = c.m.Snapshot()
	case Size, At, Read, Release:
		c.snapshot(code, c.snapshots[a], r)
	}
}

func (c *checked) snapshot(code int64, s Snapshot, r *wire.Reader) {
	i := int64(0)
	if code == At {
		i = r.Int()
	}
	if s == nil {
		return
	}
	switch code {
	case Size:
		c.w.Int(int64(s.Len()))
	case At:
		c.at(s, int(i))
	case Read:
		n := s.Len()
		c.w.Int(int64(n))
		for i := range n {
			c.at(s, i)
		}
	case Release:
		c.m.Release(s)
	}
}
