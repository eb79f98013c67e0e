package labs

import (
	"fmt"
	"strconv"
)

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
	args := make([]any, len(m.Args))
	for i, a := range m.Args {
		switch n := a.(type) {
		case int:
			args[i] = figure(n)
		case int64:
			args[i] = figure(n)
		default:
			args[i] = a
		}
	}
	return fmt.Sprintf(t.In(lang), args...)
}

// figure is a whole number that is written with its thousands apart, as the pages write theirs: 13,899.
type figure int64

// Format writes the figure; what is not a plain %d is written as fmt would.
func (f figure) Format(s fmt.State, verb rune) {
	if _, wide := s.Width(); verb != 'd' || wide {
		_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), int64(f))
		return
	}
	digits := strconv.FormatInt(int64(f), 10)
	sign := ""
	if f < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	_, _ = fmt.Fprint(s, sign, digits)
}

// String returns the English sentence.
func (m Message) String() string { return m.In("en") }

// IsZero tells whether there is no message.
func (m Message) IsZero() bool { return m.Key == "" }
