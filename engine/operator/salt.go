package operator

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unsafe"

	"weir/engine/serde"
	"weir/engine/task"
)

// Salts is the number of keys that Salt makes of each: enough that their key groups lie on all of a few subtasks.
const Salts = 64

// Salt spreads each key over many for the first of two stages: key k becomes the string "k#s" with a random s from 0 to
// Salts-1, so that a hot key's records go to all subtasks. Chained to the source, before the exchange by the salted key;
// PreCount takes the salt off again. The exchange carries string keys, whatever the type of the keys was.
type Salt struct {
	stateless
	t      serde.KeyType
	random *rand.Rand
	text   []byte
	record serde.Record
	out    task.Output
}

// NewSalt makes the operator for keys of type t.
func NewSalt(t serde.KeyType) *Salt { return &Salt{t: t} }

// Open seeds the salts: equal seeds give equal salts.
func (s *Salt) Open(ctx *task.Context, out task.Output) error {
	s.out = out
	s.random = rand.New(rand.NewPCG(uint64(ctx.Settings.Seed), uint64(ctx.Index)))
	return nil
}

// SettingsChanged does nothing.
func (s *Salt) SettingsChanged() {}

// Process emits the record under its salted key.
func (s *Salt) Process(r *serde.Record) error {
	switch s.t {
	case serde.Long, serde.Int:
		s.text = strconv.AppendInt(s.text[:0], r.Key.Num, 10)
	case serde.String:
		s.text = append(s.text[:0], r.Key.Str...)
	default:
		s.text = append(s.text[:0], serde.FormatKey(s.t, r.Key)...)
	}
	s.text = append(s.text, '#')
	s.text = strconv.AppendInt(s.text, s.random.Int64N(Salts), 10)
	s.record = *r
	s.record.Key = serde.Key{Str: unsafe.String(unsafe.SliceData(s.text), len(s.text))}
	return s.out.Collect(&s.record)
}

// unsalt is the key that was salted. A string is a view of salted.
func unsalt(t serde.KeyType, salted string) (serde.Key, error) {
	end := strings.LastIndexByte(salted, '#')
	if end < 0 {
		return serde.Key{}, fmt.Errorf("key %q has no salt, expected key#salt", salted)
	}
	return serde.ParseKey(t, salted[:end])
}
