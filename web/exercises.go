package web

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"weir/exercises"
	"weir/exercises/kit"
	"weir/labs"
	"weir/web/templates"
)

// exerciseText renders the tasks of each language: Markdown with tables. Raw HTML in it is left out, and in Chinese so is a
// line's end between two characters, which would show as a space. In English that rule would join words at a comma.
var exerciseText = map[string]goldmark.Markdown{
	"en": goldmark.New(goldmark.WithExtensions(extension.Table)),
	"zh": goldmark.New(goldmark.WithExtensions(extension.Table,
		extension.NewCJK(extension.WithEastAsianLineBreaks(extension.EastAsianLineBreaksCSS3Draft)))),
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
