package labs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed lessons
var lessonFiles embed.FS

// Languages are those that every lesson is written in.
var Languages = []string{"en", "zh"}

// StepIDs are the steps of a lesson, in order.
var StepIDs = []string{"predict", "run", "observe", "explain"}

// quizID is the id of the section behind the last step.
const quizID = "quiz"

// Lesson is the text of a lab in one language.
type Lesson struct {
	Title string
	Intro template.HTML
	Steps []LessonStep
	// Quiz closes the last step.
	Quiz []Question
}

// LessonStep is one of the four steps.
type LessonStep struct {
	ID    string
	Title string
	HTML  template.HTML
	// Choices are the answers among which a learner commits to one; only the first step has them.
	Choices []string
	// Knobs, Evidence, tracepoints and exercises are the names that the text links to, in its order.
	Knobs, Evidence, Points, Exercises []string
}

type lessonKey struct{ lab, lang string }

var (
	lessonsMu sync.Mutex
	lessons   = map[lessonKey]*Lesson{}
)

// Lesson returns the lab's lesson in a language, English if it is neither "en" nor "zh".
func (l *Lab) Lesson(lang string) (*Lesson, error) {
	if lang != "zh" {
		lang = "en"
	}
	lessonsMu.Lock()
	defer lessonsMu.Unlock()
	k := lessonKey{l.ID, lang}
	if done, ok := lessons[k]; ok {
		return done, nil
	}
	name := "lessons/" + l.ID + "/" + lang + ".md"
	src, err := lessonFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("lesson of lab %s: %w", l.ID, err)
	}
	parsed, err := parseLesson(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lessons[k] = parsed
	return parsed, nil
}

// parseLesson reads a lesson: a title, an introduction, a section with an id for each step, and the quiz. Links to knob:NAME,
// evidence:ID and point:NAME become links to the page's places for them, and exercise:ID to its page.
func parseLesson(src []byte) (*Lesson, error) {
	md := goldmark.New(goldmark.WithParserOptions(parser.WithHeadingAttribute()))
	doc := md.Parser().Parse(text.NewReader(src))
	l := &Lesson{}
	var step *LessonStep // nil in the introduction
	var quiz *quizParser // nil before it
	var out bytes.Buffer
	flush := func() {
		switch {
		case quiz != nil:
		case step == nil:
			l.Intro = template.HTML(together(out.String()))
		default:
			step.HTML = template.HTML(dotted.ReplaceAllStringFunc(together(out.String()), breakable))
			l.Steps = append(l.Steps, *step)
		}
		out.Reset()
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			l.Title = plain(h, src)
			continue
		} else if ok && h.Level == 2 {
			flush()
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			if string(name) == quizID {
				if len(l.Steps) == 0 {
					return nil, fmt.Errorf("the quiz stands before the steps")
				}
				quiz, step = &quizParser{md: md, src: src}, &l.Steps[len(l.Steps)-1]
				continue
			}
			step = &LessonStep{ID: string(name), Title: plain(h, src)}
			continue
		}
		if step != nil {
			step.followLinks(n)
		}
		if quiz != nil {
			if err := quiz.take(n); err != nil {
				return nil, err
			}
			continue
		}
		if step != nil {
			if list, ok := n.(*ast.List); ok && step.ID == StepIDs[0] && step.Choices == nil {
				for item := list.FirstChild(); item != nil; item = item.NextSibling() {
					step.Choices = append(step.Choices, plain(item, src))
				}
				continue
			}
		}
		if err := md.Renderer().Render(&out, src, n); err != nil {
			return nil, err
		}
	}
	flush()
	if quiz != nil {
		var err error
		if l.Quiz, err = quiz.done(); err != nil {
			return nil, err
		}
	}
	for i, want := range StepIDs {
		if i >= len(l.Steps) || l.Steps[i].ID != want {
			return nil, fmt.Errorf("step %d must be {#%s}", i+1, want)
		}
	}
	if l.Title == "" || len(l.Steps) != len(StepIDs) {
		return nil, fmt.Errorf("a lesson has a title and the steps %s", strings.Join(StepIDs, ", "))
	}
	return l, nil
}

// dotted finds names such as those of Flink's options, which are wider than the column that lessons are read in.
var dotted = regexp.MustCompile(`<code>[\w-]+(\.[\w-]+)+</code>`)

// breakable lets a line break behind each dot of a name.
func breakable(name string) string { return strings.ReplaceAll(name, ".", ".<wbr>") }

// measured finds a figure and its unit.
var measured = regexp.MustCompile(`(\d) ((?:ms|s|min|B|[KMG]i?B)\b|%|毫?秒)`)

// together keeps a figure and its unit on one line.
func together(html string) string { return measured.ReplaceAllString(html, "$1\u00a0$2") }

// followLinks notes the knobs and claims that a block links to, and points the links at the page.
func (s *LessonStep) followLinks(block ast.Node) {
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		kind, name, _ := strings.Cut(string(link.Destination), ":")
		switch kind {
		case "knob":
			s.Knobs = append(s.Knobs, name)
		case "evidence":
			s.Evidence = append(s.Evidence, name)
		case "point":
			s.Points = append(s.Points, name)
		case "exercise":
			s.Exercises = append(s.Exercises, name)
			link.Destination = []byte("/exercises/" + name)
			return ast.WalkContinue, nil
		default:
			return ast.WalkContinue, nil
		}
		link.Destination = []byte("#" + kind + "-" + name)
		link.SetAttributeString("class", []byte("to-"+kind))
		return ast.WalkContinue, nil
	})
}

// plain is the text of a node without its marks.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
