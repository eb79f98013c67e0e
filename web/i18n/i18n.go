// Package i18n holds every text of the pages in English and Chinese: one file, catalog.json, that the Go templates and the
// scripts both read. Lessons, knobs and claims bring their own two languages with them (package labs).
package i18n

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

//go:embed catalog.json
var catalogFile []byte

// Languages are those of the pages; the first is the default.
var Languages = []string{"en", "zh"}

// Catalog has the texts by key and language.
type Catalog struct {
	texts map[string]map[string]string
}

// Load reads the catalogue. Every key must have every language.
func Load() (*Catalog, error) {
	c := &Catalog{}
	if err := json.Unmarshal(catalogFile, &c.texts); err != nil {
		return nil, fmt.Errorf("i18n/catalog.json: %w", err)
	}
	for key, texts := range c.texts {
		for _, lang := range Languages {
			if strings.TrimSpace(texts[lang]) == "" {
				return nil, fmt.Errorf("i18n/catalog.json: %q has no text in %q", key, lang)
			}
		}
	}
	return c, nil
}

// T returns a text. Arguments come in pairs of name and value and replace {name}. A key that does not exist comes back in
// brackets, so that it shows.
func (c *Catalog) T(lang, key string, args ...any) string {
	texts, ok := c.texts[key]
	if !ok {
		return "[" + key + "]"
	}
	s, ok := texts[lang]
	if !ok {
		s = texts[Languages[0]]
	}
	for i := 0; i+1 < len(args); i += 2 {
		s = strings.ReplaceAll(s, fmt.Sprintf("{%v}", args[i]), fmt.Sprint(args[i+1]))
	}
	return s
}

// Texts are all of one language, for the scripts of a page.
func (c *Catalog) Texts(lang string) map[string]string {
	out := make(map[string]string, len(c.texts))
	for key, texts := range c.texts {
		out[key] = texts[lang]
	}
	return out
}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// Pick chooses the language of a page: what the address says, then what was chosen before, then what the browser asks for.
func Pick(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); slices.Contains(Languages, lang) {
		return lang
	}
	if c, err := r.Cookie("lang"); err == nil && slices.Contains(Languages, c.Value) {
		return c.Value
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return Languages[0]
	}
	_, i, confidence := matcher.Match(tags...)
	if confidence == language.No {
		return Languages[0]
	}
	return Languages[i]
}
