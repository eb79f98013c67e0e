package labs

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
)

// Question is one of the three that close a lesson.
type Question struct {
	Text    string
	Choices []string
	Right   int // place among the choices
	Why     template.HTML
}

// quizParser reads the last section of a lesson: each question is a heading of the third level, a list in which "[x]" marks
// the right answer and "[ ]" the others, and the reason behind it.
type quizParser struct {
	md        goldmark.Markdown
	src       []byte
	questions []Question
	why       bytes.Buffer
}

func (p *quizParser) take(n ast.Node) error {
	if h, ok := n.(*ast.Heading); ok && h.Level == 3 {
		p.close()
		p.questions = append(p.questions, Question{Text: plain(h, p.src), Right: -1})
		return nil
	}
	if len(p.questions) == 0 {
		return fmt.Errorf("the quiz begins with something else than a question (### …)")
	}
	q := &p.questions[len(p.questions)-1]
	list, ok := n.(*ast.List)
	if !ok || q.Choices != nil {
		return p.md.Renderer().Render(&p.why, p.src, n)
	}
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		text := plain(item, p.src)
		if right, ok := strings.CutPrefix(text, "[x] "); ok {
			if q.Right >= 0 {
				return fmt.Errorf("question %q has two right answers", q.Text)
			}
			q.Right, text = len(q.Choices), right
		} else if text, ok = strings.CutPrefix(text, "[ ] "); !ok {
			return fmt.Errorf("question %q: the answer %q begins neither with [x] nor with [ ]", q.Text, text)
		}
		q.Choices = append(q.Choices, text)
	}
	return nil
}

// close ends the question that was being read.
func (p *quizParser) close() {
	if n := len(p.questions); n > 0 {
		p.questions[n-1].Why = template.HTML(p.why.String())
	}
	p.why.Reset()
}

func (p *quizParser) done() ([]Question, error) {
	p.close()
	for _, q := range p.questions {
		if len(q.Choices) < 3 || q.Right < 0 || q.Why == "" {
			return nil, fmt.Errorf("question %q needs three answers or more, the right one marked [x], and a reason", q.Text)
		}
	}
	return p.questions, nil
}
