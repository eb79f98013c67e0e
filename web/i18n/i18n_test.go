package i18n

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func catalog(t *testing.T) map[string]map[string]string {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c.texts
}

var place = regexp.MustCompile(`\{\w+\}`)

// Every key has both languages, with the same places for values in both.
func TestBothLanguages(t *testing.T) {
	for key, texts := range catalog(t) {
		if len(texts) != len(Languages) {
			t.Errorf("%s has %d languages", key, len(texts))
		}
		en, zh := place.FindAllString(texts["en"], -1), place.FindAllString(texts["zh"], -1)
		slices.Sort(en)
		slices.Sort(zh)
		if !slices.Equal(slices.Compact(en), slices.Compact(zh)) {
			t.Errorf("%s has values %v in English and %v in Chinese", key, en, zh)
		}
		for _, r := range texts["en"] {
			if unicode.Is(unicode.Han, r) {
				t.Errorf("the English text of %s has Chinese in it: %s", key, texts["en"])
				break
			}
		}
	}
}

// A key stands once in the file: a second one would silently win.
func TestNoKeyTwice(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(string(catalogFile)))
	seen := map[string]bool{}
	depth := 0
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		switch x := tok.(type) {
		case json.Delim:
			if x == '{' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				if seen[x] {
					t.Errorf("%s stands twice", x)
				}
				seen[x] = true
			}
		}
	}
}

// Texts that are used exist, and those that exist are used. Keys that are put together at run time count by their stem.
func TestKeysAndUses(t *testing.T) {
	texts := catalog(t)
	used := map[string]bool{}
	var stems []string
	plain := regexp.MustCompile(`\b[tT]\(\s*(?:lang, )?["']([A-Za-z][\w./-]*)["']`)
	chosen := regexp.MustCompile(`["']([a-z][A-Za-z]*(?:\.[A-Za-z][\w-]*)+)["']`)
	stem := regexp.MustCompile("`((?:[a-z][A-Za-z]*\\.)+)\\$\\{|[\"']([a-z][A-Za-z.]*\\.)[\"'] ?\\+")
	for _, pattern := range []string{"../ts/*.ts", "../templates/*.templ", "../templates/*.go", "../*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_templ.go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range plain.FindAllStringSubmatch(string(src), -1) {
				if strings.HasSuffix(m[1], ".") {
					stems = append(stems, m[1])
					continue
				}
				used[m[1]] = true
				if texts[m[1]] == nil {
					t.Errorf("%s uses the text %s, which does not exist", name, m[1])
				}
			}
			for _, m := range chosen.FindAllStringSubmatch(string(src), -1) {
				used[m[1]] = true
			}
			for _, m := range stem.FindAllStringSubmatch(string(src), -1) {
				stems = append(stems, m[1]+m[2])
			}
		}
	}
	for key := range texts {
		if !used[key] && !slices.ContainsFunc(stems, func(s string) bool { return strings.HasPrefix(key, s) }) {
			t.Errorf("the text %s is not used", key)
		}
	}
}

func TestT(t *testing.T) {
	c := &Catalog{texts: map[string]map[string]string{"a": {"en": "{n} of {of}", "zh": "{of} 中 {n}"}}}
	if got := c.T("zh", "a", "n", 3, "of", 8); got != "8 中 3" {
		t.Error(got)
	}
	if got := c.T("en", "no.such"); got != "[no.such]" {
		t.Error(got)
	}
}
