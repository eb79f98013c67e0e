package exercises

import (
	"bytes"
	"io/fs"
	"slices"
	"testing"

	"github.com/yuin/goldmark"

	"weir/labs"
)

// TestTasksAreMarkdown wants no mark of bold in a task that Markdown leaves as it is: beside a Chinese quotation mark it does.
func TestTasksAreMarkdown(t *testing.T) {
	for _, e := range All() {
		for _, lang := range labs.Languages {
			src, err := fs.ReadFile(e.Files, "task."+lang+".md")
			if err != nil {
				t.Fatal(err)
			}
			var html bytes.Buffer
			if err := goldmark.Convert(src, &html); err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(html.Bytes(), []byte("**")); i >= 0 {
				t.Errorf("%s %s: bold is not taken for bold: …%s", e.ID, lang, html.Bytes()[i:min(i+60, html.Len())])
			}
		}
	}
}

// TestLessonsLinkExercises holds the exercises that lessons link to against the catalogue, and wants every exercise linked
// by the lesson of its lab, or by any lesson while its lab does not exist.
func TestLessonsLinkExercises(t *testing.T) {
	linked := map[string][]string{}
	for _, l := range labs.All() {
		x, err := l.Lesson("en")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Steps {
			for _, id := range s.Exercises {
				if _, err := Find(id); err != nil {
					t.Errorf("%s: step %s: %v", l.ID, s.ID, err)
				}
				linked[id] = append(linked[id], l.ID)
			}
		}
	}
	for _, e := range All() {
		if _, ok := labs.Get(e.Lab); len(linked[e.ID]) == 0 || ok && !slices.Contains(linked[e.ID], e.Lab) {
			t.Errorf("exercise %s belongs to lab %s and is linked by %v", e.ID, e.Lab, linked[e.ID])
		}
	}
}
