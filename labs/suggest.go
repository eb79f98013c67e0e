package labs

import (
	"slices"
	"strings"
)

// Nearest returns the names that a learner may have meant, best first, three at most: those within a few typing errors,
// and those that begin as the given one does.
func Nearest(name string, among []string) []string {
	type near struct {
		name string
		dist int
	}
	want := fold(name)
	var found []near
	for _, n := range among {
		have := fold(n)
		d := distance(want, have)
		switch {
		case len(want) >= 3 && strings.HasPrefix(have, want):
			d = min(d, 1)
		case len(have) >= 3 && strings.HasPrefix(want, have):
			d = min(d, 2)
		}
		if d <= 1+len(want)/4 {
			found = append(found, near{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.dist - b.dist })
	var names []string
	for _, f := range found[:min(3, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// fold makes bufferTimeoutMs, buffer-timeout-ms and buffer_timeout_ms alike.
func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(s))
}

// distance is the number of single-character edits from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
