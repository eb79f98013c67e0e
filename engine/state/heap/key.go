package heap

import (
	"strings"

	"weir/engine/serde"
	"weir/engine/state"
)

// mapKey is what the maps of a table go by: a key, with its namespace where there is one. Four concrete types, so that a
// map of numbers compares numbers.
type mapKey[K any] interface {
	comparable
	// of makes it, with its hash, of a key, the key's Java hash code and the namespace.
	of(k serde.Key, h int32, ns state.Window) (K, int32)
	key() serde.Key
	window() state.Window
	// clone makes the key safe to keep.
	clone() K
}

type number int64

func (number) of(k serde.Key, h int32, _ state.Window) (number, int32) { return number(k.Num), h }
func (n number) key() serde.Key                                        { return serde.Key{Num: int64(n)} }
func (number) window() state.Window                                    { return state.Window{} }
func (n number) clone() number                                         { return n }

type text string

func (text) of(k serde.Key, h int32, _ state.Window) (text, int32) { return text(k.Str), h }
func (s text) key() serde.Key                                      { return serde.Key{Str: string(s)} }
func (text) window() state.Window                                  { return state.Window{} }
func (s text) clone() text                                         { return text(strings.Clone(string(s))) }

type numberInWindow struct {
	k  int64
	ns state.Window
}

func (numberInWindow) of(k serde.Key, h int32, ns state.Window) (numberInWindow, int32) {
	return numberInWindow{k.Num, ns}, mix(h, ns)
}
func (n numberInWindow) key() serde.Key        { return serde.Key{Num: n.k} }
func (n numberInWindow) window() state.Window  { return n.ns }
func (n numberInWindow) clone() numberInWindow { return n }

type textInWindow struct {
	k  string
	ns state.Window
}

func (textInWindow) of(k serde.Key, h int32, ns state.Window) (textInWindow, int32) {
	return textInWindow{k.Str, ns}, mix(h, ns)
}
func (s textInWindow) key() serde.Key       { return serde.Key{Str: s.k} }
func (s textInWindow) window() state.Window { return s.ns }
func (s textInWindow) clone() textInWindow  { return textInWindow{strings.Clone(s.k), s.ns} }

// mix joins the hash of a key and that of its window.
func mix(h int32, ns state.Window) int32 {
	x := uint64(ns.Start)*0x9E3779B97F4A7C15 ^ uint64(ns.End)*0xC2B2AE3D27D4EB4F
	return h*31 + int32(x>>32) ^ int32(x)
}
