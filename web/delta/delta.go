// Package delta tells what changed between two values as JSON has them, for streams that send a picture whole once and then
// only the difference. A difference is a merge:
//
//   - an object holds only the fields that changed; null takes a field away;
//   - an array whose length stays becomes an object keyed by index, with the elements that changed;
//   - an array of numbers or strings, or one whose length changed, is sent whole.
//
// Readings are rounded on the way (shorten): a page cannot show more, and the messages halve.
package delta

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Tree is a value as JSON has it: map[string]any, []any, string, bool, json.Number. It is never changed once made, so that
// viewers can share it.
type Tree = map[string]any

// Of turns a value into its tree.
func Of(v any) (Tree, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var t Tree
	if err := d.Decode(&t); err != nil {
		return nil, err
	}
	tidy(t)
	return t, nil
}

// tidy rounds the numbers below v and drops null fields, which a merge could not tell from fields taken away.
func tidy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			switch {
			case e == nil:
				delete(x, k)
			case k != "knobs" && k != "changes": // what was set is shown as it was set
				x[k] = tidy(e)
			}
		}
	case []any:
		for i, e := range x {
			x[i] = tidy(e)
		}
	case json.Number:
		return shorten(x)
	}
	return v
}

// shorten keeps whole numbers and rounds others to about four digits.
func shorten(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil {
		return n
	}
	step := 1000.0
	switch a := math.Abs(f); {
	case a >= 1000:
		step = 1
	case a >= 10:
		step = 10
	}
	return json.Number(strconv.FormatFloat(math.Round(f*step)/step, 'f', -1, 64))
}

// diff gives the merge that turns from into to, and whether there is any.
func diff(from, to any) (any, bool) {
	switch t := to.(type) {
	case map[string]any:
		f, ok := from.(map[string]any)
		if !ok {
			return to, true
		}
		return diffObjects(f, t)
	case []any:
		f, ok := from.([]any)
		if !ok || len(f) != len(t) || !nested(t) {
			return to, !same(from, to)
		}
		var patch map[string]any
		for i := range t {
			if d, changed := diff(f[i], t[i]); changed {
				if patch == nil {
					patch = map[string]any{}
				}
				patch[strconv.Itoa(i)] = d
			}
		}
		return patch, patch != nil
	}
	return to, from != to
}

func diffObjects(from, to map[string]any) (any, bool) {
	var patch map[string]any
	put := func(k string, v any) {
		if patch == nil {
			patch = map[string]any{}
		}
		patch[k] = v
	}
	for k, v := range to {
		old, ok := from[k]
		if !ok {
			put(k, v)
		} else if d, changed := diff(old, v); changed {
			put(k, d)
		}
	}
	for k := range from {
		if _, ok := to[k]; !ok {
			put(k, nil)
		}
	}
	return patch, patch != nil
}

// nested tells whether an array has objects or arrays in it.
func nested(a []any) bool {
	for _, e := range a {
		switch e.(type) {
		case map[string]any, []any:
			return true
		}
	}
	return false
}

// same compares two trees.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// Message encodes what turns a tree into another; before is nil for a reader that has none yet, who gets the whole one. Nil
// means that nothing changed.
func Message(before, now Tree) ([]byte, error) {
	if before == nil {
		return json.Marshal(now)
	}
	d, changed := diff(before, now)
	if !changed {
		return nil, nil
	}
	return json.Marshal(d)
}

// Merge gives what a difference makes of a tree, which stays as it is; what did not change is shared.
func Merge(old, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	switch o := old.(type) {
	case map[string]any:
		out := maps.Clone(o)
		for k, v := range p {
			if v == nil {
				delete(out, k)
				continue
			}
			out[k] = Merge(out[k], v)
		}
		return out
	case []any:
		out := slices.Clone(o)
		for k, v := range p {
			if i, err := strconv.Atoi(k); err == nil && i >= 0 && i < len(out) {
				out[i] = Merge(out[i], v)
			}
		}
		return out
	}
	return patch
}
