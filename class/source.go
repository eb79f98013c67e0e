package class

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// SourceDigest is equal for Go sources that differ in comments, spaces and line breaks only. It is empty for a source
// without a word.
func SourceDigest(source []byte) string {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(source)), source, func(token.Position, string) {}, 0) // what is no Go counts as it is
	h := sha256.New()
	words := 0
	for {
		_, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			if words == 0 {
				return ""
			}
			return hex.EncodeToString(h.Sum(nil)[:16])
		case kind == token.SEMICOLON:
			text = ";" // a line break is one too
		case text == "" || kind.IsOperator():
			text = kind.String()
		}
		words++
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
}

// Equal are people who handed in the same code for an exercise. It is a hint for the instructor, who knows whether they
// worked together; no points depend on it.
type Equal struct {
	Exercise string   `json:"exercise"`
	Digest   string   `json:"digest"`
	People   []string `json:"people"` // IDs
}

// EqualSources finds who handed in equal code. Sources of known digests, such as the starter's, tell nothing and are left
// out.
func EqualSources(results []Result, known ...string) []Equal {
	type key struct{ exercise, digest string }
	who := map[key][]string{}
	for i := range results {
		r := &results[i]
		k := key{r.Exercise, r.Source}
		if r.Source != "" && !slices.Contains(known, r.Source) && !slices.Contains(who[k], r.Person) {
			who[k] = append(who[k], r.Person)
		}
	}
	var all []Equal
	for k, people := range who {
		if len(people) > 1 {
			slices.Sort(people)
			all = append(all, Equal{k.exercise, k.digest, people})
		}
	}
	slices.SortFunc(all, func(a, b Equal) int {
		return cmp.Or(strings.Compare(a.Exercise, b.Exercise), strings.Compare(a.Digest, b.Digest))
	})
	return all
}
