// Package templates has the pages. A .templ file is one page or one part of a page; its generated Go file is beside it
// (go tool templ generate).
package templates

import (
	"net/url"

	"weir/labs"
)

// Base is what every page needs.
type Base struct {
	Lang  string
	Theme string // light, dark, or empty: as the system has it
	// T is a text of the catalogue in the page's language.
	T func(key string, args ...any) string
	// Asset is the address of a built file.
	Asset func(name string) string
	// Texts are handed to the scripts.
	Texts map[string]string
	// Path and Query are the page's own address, for the links of the language switch.
	Path  string
	Query url.Values
	// Nowhere tells that nothing is at the address that was asked for: no entry of the header is the page.
	Nowhere bool
	// Hosting tells that this server has classes; Member is who looks, if they are in one.
	Hosting bool
	Member  *Member
}

// InLanguage is this page's address in another language.
func (b Base) InLanguage(lang string) string {
	q := url.Values{}
	for k, v := range b.Query {
		q[k] = v
	}
	q.Set("lang", lang)
	return b.Path + "?" + q.Encode()
}

// To is another page's address in this page's language.
func (b Base) To(path string) string {
	if b.Query.Has("lang") {
		return path + "?lang=" + b.Lang
	}
	return path
}

// Say picks the page's language of a text.
func (b Base) Say(t labs.Text) string { return t.In(b.Lang) }

func pressed(on bool) string {
	if on {
		return "true"
	}
	return "false"
}
