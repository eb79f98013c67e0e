package labs

import "fmt"

// Text is one sentence in the languages of the lab.
type Text struct {
	En string `json:"en"`
	Zh string `json:"zh"`
}

// In returns the text in a language: "zh" or, for any other, English.
func (t Text) In(lang string) string {
	if lang == "zh" {
		return t.Zh
	}
	return t.En
}

// Message is a sentence of the catalogue with its figures, so that a page can show it in either language.
type Message struct {
	Key  string `json:"key"`
	Args []any  `json:"args,omitempty"`
}

func say(key string, args ...any) Message { return Message{Key: key, Args: args} }

// In returns the sentence in a language. A key without an entry gives the key itself.
func (m Message) In(lang string) string {
	t, ok := catalogue[m.Key]
	if !ok {
		return m.Key
	}
	if len(m.Args) == 0 {
		return t.In(lang)
	}
	return fmt.Sprintf(t.In(lang), m.Args...)
}

// String returns the English sentence.
func (m Message) String() string { return m.In("en") }

// IsZero tells whether there is no message.
func (m Message) IsZero() bool { return m.Key == "" }
