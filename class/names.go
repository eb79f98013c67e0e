package class

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// MostNameRunes bounds the name of a person or of a class, in characters.
const MostNameRunes = 60

// CleanName gives a name as it is kept and shown: composed characters, single spaces, nothing that steers a terminal or the direction
// of text. It is an ErrInvalid if nothing is left or it is longer than MostNameRunes.
func CleanName(typed string) (string, error) {
	if len(typed) > 16*MostNameRunes {
		return "", invalid("name: %d bytes, expected at most %d characters", len(typed), MostNameRunes)
	}
	name := norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u200b', r == '\ufeff', unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, norm.NFC.String(typed))) // again, for what stood between two may be gone
	name = strings.Join(strings.Fields(name), " ")
	switch n := utf8.RuneCountInString(name); {
	case !strings.ContainsFunc(name, unicode.IsGraphic):
		return "", invalid("name: there is none, expected from 1 to %d characters", MostNameRunes)
	case n > MostNameRunes:
		return "", invalid("name: %d characters, expected at most %d", n, MostNameRunes)
	}
	return name, nil
}

// NameKey is equal for names that a reader takes for one: it does not tell upper from lower case, nor wide from narrow
// characters.
func NameKey(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
}

// FreeName gives a name that nobody has: the wanted one, or with the first suffix that is free, "Ana 2". taken answers
// for a NameKey.
func FreeName(wanted string, taken func(key string) bool) string {
	name := wanted
	for n := 2; taken(NameKey(name)); n++ {
		name = fmt.Sprintf("%s %d", wanted, n)
	}
	return name
}
