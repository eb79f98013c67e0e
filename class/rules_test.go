package class

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCodes(t *testing.T) {
	seen := map[byte]bool{}
	for range 2000 {
		code := NewCode()
		if parsed, err := ParseCode(ShowCode(code)); err != nil || parsed != code || len(code) != 8 {
			t.Fatalf("%q is read as %q, %v", code, parsed, err)
		}
		for i := range len(code) {
			seen[code[i]] = true
		}
	}
	if len(seen) != 32 {
		t.Errorf("codes have %d different digits, expected all 32", len(seen))
	}
	for typed, want := range map[string]string{
		"7kq2-9mxd": "7KQ29MXD", " 7KQ2 9MXD ": "7KQ29MXD", "oOiIlL00": "00111100", "７ＫＱ２－９ＭＸＤ": "7KQ29MXD", "7KQ2–9MXD": "7KQ29MXD",
	} {
		if got, err := ParseCode(typed); err != nil || got != want {
			t.Errorf("%q is read as %q, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"", "7KQ2-9MX", "7KQ2-9MXDA", "7KQ2-9MXU", "7KQ2-9MX\x00", "你好你好你好你好", strings.Repeat("-", 1000)} {
		if got, err := ParseCode(typed); !errors.Is(err, ErrInvalid) || got != "" {
			t.Errorf("%q is read as %q, %v", typed, got, err)
		}
	}
}

func TestTokens(t *testing.T) {
	a, hash := NewToken()
	b, _ := NewToken()
	if a == b || len(a) != 22 || len(hash) != 32 || string(HashToken(a)) != string(hash) {
		t.Errorf("%q %q %x", a, b, hash)
	}
	if got := hex.EncodeToString(HashToken("abc")[:4]); got != "ba7816bf" { // of FIPS 180-4
		t.Errorf("the hash is no SHA-256: %s", got)
	}
	if a, b := NewID(), NewID(); len(a) < 26 || a == b {
		t.Error("an ID is too short or not new")
	}
}

func TestNames(t *testing.T) {
	for typed, want := range map[string]string{
		"  Ana \t Álvarez\n": "Ana Álvarez", "A\u0301na": "Ána", "王小明": "王小明", "<b>Bo</b>": "<b>Bo</b>",
		"Bo\u202eevil\u200b\x1b[31m": "Boevil[31m", strings.Repeat("王", MostNameRunes): strings.Repeat("王", MostNameRunes), "a\xffb": "ab",
	} {
		if got, err := CleanName(typed); err != nil || got != want || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, %v; expected %q", typed, got, err, want)
		}
	}
	for _, typed := range []string{"", " \t", "\u200b\u202e", strings.Repeat("a", MostNameRunes+1), strings.Repeat("\u200b", 1e6)} {
		if got, err := CleanName(typed); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.20q… becomes %q, %v", typed, got, err)
		}
	}
	for _, equal := range [][2]string{{"Ana", "ANA"}, {"Straße", "STRASSE"}, {"Ａｎａ", "ana"}, {"A\u0301na", "ána"}} {
		if NameKey(equal[0]) != NameKey(equal[1]) {
			t.Errorf("%q and %q are not taken for one name", equal[0], equal[1])
		}
	}
	if NameKey("Ana") == NameKey("Anna") {
		t.Error("Ana and Anna are taken for one name")
	}
	taken := map[string]bool{"ana": true, "ana 2": true, "ana 4": true}
	for wanted, want := range map[string]string{"Bo": "Bo", "Ana": "Ana 3", "ana 2": "ana 2 2"} {
		if got := FreeName(wanted, func(key string) bool { return taken[key] }); got != want {
			t.Errorf("%s becomes %s, expected %s", wanted, got, want)
		}
	}
}

var due = time.Date(2026, 3, 27, 22, 59, 0, 0, time.UTC)

func TestLateRule(t *testing.T) {
	d := Deadline{Exercise: "e", Due: due, Penalty: 30}
	for _, c := range []struct {
		name        string
		rule        LateRule
		received    time.Time
		late, taken bool
		points      int // left of 7
	}{
		{"the moment itself", RuleFor(d, time.Time{}), due, false, true, 4},
		{"a nanosecond after", RuleFor(d, time.Time{}), due.Add(1), true, true, 4},
		{"an extension", RuleFor(d, due.Add(time.Hour)), due.Add(time.Hour), false, true, 4},
		{"after the extension", RuleFor(d, due.Add(time.Hour)), due.Add(time.Hour + 1), true, true, 4},
		{"an extension before the deadline", RuleFor(d, due.Add(-time.Hour)), due, false, true, 4},
		{"no deadline", RuleFor(Deadline{}, due), due.AddDate(9, 0, 0), false, true, 7},
		{"not taken", RuleFor(Deadline{Due: due, Penalty: 100}, time.Time{}), due.Add(1), true, false, 0},
		{"without penalty", RuleFor(Deadline{Due: due}, time.Time{}), due.Add(1), true, true, 7},
	} {
		if late, taken, points := c.rule.Late(c.received), c.rule.Taken(c.received), c.rule.pointsLeft(7); late != c.late || taken != c.taken || points != c.points {
			t.Errorf("%s: late %v, taken %v, points %d", c.name, late, taken, points)
		}
	}
	if !errors.Is(ErrLate, ErrClosed) || errors.Is(ErrClosed, ErrLate) {
		t.Error("a late result is not told from other ends")
	}
	for _, bad := range []Deadline{{Due: due}, {Exercise: "e", Due: due, Penalty: -1}, {Exercise: "e", Due: due, Penalty: 101}, {Exercise: "e", Due: due.AddDate(8000, 0, 0)}} {
		if err := bad.Valid(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := d.Valid(); err != nil {
		t.Error(err)
	}
}

func TestZones(t *testing.T) {
	for zone, want := range map[string]string{
		"Europe/Berlin": "Fri 2026-03-27 23:59 CET (UTC+01:00)", "Asia/Shanghai": "Sat 2026-03-28 06:59 CST (UTC+08:00)", "UTC": "Fri 2026-03-27 22:59 UTC",
		"America/Sao_Paulo": "Fri 2026-03-27 19:59 (UTC-03:00)", "Mars/Olympus": "Fri 2026-03-27 22:59 UTC", "": "Fri 2026-03-27 22:59 UTC",
	} {
		if got := ShowTime(due, zone); got != want {
			t.Errorf("in %q: %s", zone, got)
		}
	}
	// Two days later the clocks of Berlin have been changed.
	if got := ShowTime(due.AddDate(0, 0, 2), "Europe/Berlin"); got != "Mon 2026-03-30 00:59 CEST (UTC+02:00)" {
		t.Error(got)
	}
	for _, bad := range []string{"", "Local", "../../etc/passwd", "Europe"} {
		if _, err := Zone(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSources(t *testing.T) {
	base := "package core\n\n// Announce says how much.\nfunc Announce(n int) int {\n\tif n > 0 {\n\t\treturn n\n\t}\n\treturn 0\n}\n"
	same := map[string]string{
		"comments": strings.Replace(base, "// Announce says how much.", "/* mine */", 1),
		"spaces":   strings.ReplaceAll(base, "\t", "      "),
		"lines":    "package core;func Announce(n int) int { if n > 0 { return n; }; return 0; };",
		"CRLF":     strings.ReplaceAll(base, "\n", "\r\n"),
	}
	digest := SourceDigest([]byte(base))
	for name, source := range same {
		if SourceDigest([]byte(source)) != digest {
			t.Errorf("other %s make another source", name)
		}
	}
	for name, source := range map[string]string{
		"a name": strings.ReplaceAll(base, "Announce", "Announces"), "a number": strings.Replace(base, "> 0", "> 1", 1), "an operator": strings.Replace(base, ">", ">=", 1),
		"words that are joined": strings.Replace(base, "return n", "returnn", 1),
	} {
		if SourceDigest([]byte(source)) == digest {
			t.Errorf("%s makes no other source", name)
		}
	}
	for _, source := range []string{"", " \n// nothing\n", "\xef\xbb\xbf"} {
		if d := SourceDigest([]byte(source)); d != "" {
			t.Errorf("%q has the digest %s", source, d)
		}
	}
	SourceDigest([]byte("\x00\xff\"unfinished 'x `")) // is no Go, and does no harm

	results := []Result{
		{Person: "c", Exercise: "e", Source: "1"}, {Person: "a", Exercise: "e", Source: "1"}, {Person: "a", Exercise: "e", Source: "1"},
		{Person: "b", Exercise: "e", Source: "2"}, {Person: "b", Exercise: "f", Source: "1"}, {Person: "d", Exercise: "e"}, {Person: "f", Exercise: "e"},
		{Person: "a", Exercise: "e", Source: "starter"}, {Person: "b", Exercise: "e", Source: "starter"},
	}
	got := EqualSources(results, "starter")
	if len(got) != 1 || got[0].Exercise != "e" || strings.Join(got[0].People, " ") != "a c" {
		t.Errorf("%+v", got)
	}
}

// FuzzNames has any text be refused or become a name that stays as it is.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"Ana", "a\u200b\u0301", "王小明", "\u1100\u200b\u1161", "=1+1", "\xff", "ﬀ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		name, err := CleanName(typed)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again, err := CleanName(name); again != name || err != nil {
			t.Errorf("%q becomes %q and then %q, %v", typed, name, again, err)
		}
		if !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\n\r\t\x1b") || utf8.RuneCountInString(name) > MostNameRunes {
			t.Errorf("%q becomes %q", typed, name)
		}
		if c := strings.TrimPrefix(cell(name), `"`); strings.ContainsAny(c[:1], "=+-@") {
			t.Errorf("the cell %s is a formula", c)
		}
		if code, err := ParseCode(typed); err == nil {
			if again, err := ParseCode(code); again != code || err != nil {
				t.Errorf("the code %q becomes %q", code, again)
			}
		}
		SourceDigest([]byte(typed)) // ends, and does no harm
	})
}
