package web

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/labs"
	"weir/web/templates"
)

// exerciseText renders the tasks of each language: Markdown with tables. Raw HTML in it is left out, and in Chinese so are
// line ends that would show as a space where none is.
var exerciseText = map[string]goldmark.Markdown{
	"en": goldmark.New(goldmark.WithExtensions(extension.Table)),
	"zh": goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(lineEnds{}, 0)))),
}

// lineEnds takes the ends of lines out between two Chinese characters and beside Chinese punctuation. Between a Chinese
// character and a Latin word they stay, for the space that is written there.
type lineEnds struct{}

func (lineEnds) Transform(doc *ast.Document, r text.Reader, _ parser.Context) {
	var before rune
	var ends *ast.Text // that of the line before, if nothing followed it yet
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		t, ok := n.(*ast.Text)
		switch {
		case !entering:
		case ok:
			line := t.Segment.Value(r.Source())
			if first, _ := utf8.DecodeRune(line); ends != nil && len(line) > 0 {
				both := unicode.Is(unicode.Han, before) && unicode.Is(unicode.Han, first)
				ends.SetSoftLineBreak(!both && !chinesePoint(before) && !chinesePoint(first))
				ends = nil
			}
			if len(line) > 0 {
				before, _ = utf8.DecodeLastRune(line)
			}
			if t.SoftLineBreak() {
				ends = t
			}
		case n.Type() == ast.TypeBlock:
			before, ends = 0, nil
		}
		return ast.WalkContinue, nil
	})
}

// chinesePoint tells whether a character is punctuation as wide as a Chinese character.
func chinesePoint(c rune) bool {
	return strings.ContainsRune("，。：；、？！（）《》“”", c)
}

func (s *Server) exerciseList(w http.ResponseWriter, r *http.Request) {
	p := templates.Exercises{Base: s.base(r)}
	chapter := labs.ChapterNetwork
	for i, e := range exercises.All() {
		// One whose lab is not there yet stands with those before it.
		l, ok := labs.Get(e.Lab)
		if ok {
			chapter = l.Chapter
		}
		at := slices.IndexFunc(p.Chapters, func(c templates.ExerciseChapter) bool { return c.ID == chapter })
		if at < 0 {
			p.Chapters = append(p.Chapters, templates.ExerciseChapter{ID: chapter})
			at = len(p.Chapters) - 1
		}
		p.Chapters[at].Rows = append(p.Chapters[at].Rows, templates.ExerciseRow{Number: i + 1, Exercise: e, Lab: l})
	}
	s.page(w, r, http.StatusOK, templates.ExercisesPage(p))
}

func (s *Server) exercisePage(w http.ResponseWriter, r *http.Request) {
	all := exercises.All()
	i := slices.IndexFunc(all, func(e *kit.Exercise) bool { return e.ID == r.PathValue("id") })
	if i < 0 {
		s.notFound(w, r)
		return
	}
	e := all[i]
	b := s.base(r)
	p := templates.Exercise{Base: b, ExerciseRow: templates.ExerciseRow{Number: i + 1, Exercise: e}, Of: len(all)}
	mine, err := s.progressOf(r.Context())
	if err != nil {
		problemOf(err).write(w)
		return
	}
	p.Answered = mine.Exercises[e.ID].Answer
	p.Lab, _ = labs.Get(e.Lab)
	if i+1 < len(all) {
		p.Next = all[i+1]
	}
	err = fillExercise(&p, e, b.Lang)
	if err != nil {
		s.log.Error("exercise page", "exercise", e.ID, "error", err)
		problemOf(err).write(w)
		return
	}
	s.page(w, r, http.StatusOK, templates.ExercisePage(p))
}

// fillExercise reads the texts and sources of an exercise.
func fillExercise(p *templates.Exercise, e *kit.Exercise, lang string) error {
	src, err := fs.ReadFile(e.Files, "task."+lang+".md")
	if err != nil {
		return err
	}
	_, src, _ = bytes.Cut(src, []byte("\n")) // the title stands in the page's own heading
	var html bytes.Buffer
	if err := exerciseText[lang].Convert(src, &html); err != nil {
		return err
	}
	p.Task = template.HTML(html.String())
	if e.Kind != kit.Code {
		return nil
	}
	starter, err := kit.Starter(e)
	if err != nil {
		return err
	}
	api, err := fs.ReadFile(e.Files, "api/api.go")
	if err != nil {
		return err
	}
	p.Starter, p.API = string(starter), string(kit.Local(api))
	return nil
}
