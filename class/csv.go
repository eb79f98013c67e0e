package class

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// CSV writes the grade book as a table: a row a person, and for each exercise its points, who judged them, and whether they
// are late. Times are not in it; the JSON has them.
func (g *GradeBook) CSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	head := []string{"name", "alias", "id", "total", "max"}
	for _, e := range g.Exercises {
		head = append(head, e.ID, e.ID+" max", e.ID+" judged", e.ID+" late", e.ID+" tries")
	}
	writeCells(b, append(head, "equal sources"))
	for i := range g.Rows {
		r := &g.Rows[i]
		cells := []string{r.Person.Name, r.Person.Alias, r.Person.ID, strconv.Itoa(r.Total), strconv.Itoa(r.Max)}
		var equal []string
		for j, e := range g.Exercises {
			grade := &r.Grades[j]
			points, judged, late := "", "", ""
			if grade.Result != nil {
				points, judged, late = strconv.Itoa(grade.Points), grade.Result.Judged(), "no"
				if grade.Result.Late {
					late = "late"
				}
			}
			cells = append(cells, points, strconv.Itoa(e.MaxPoints), judged, late, strconv.Itoa(grade.Tries))
			if names := g.equalTo(r.Person.ID, e.ID); len(names) > 0 {
				equal = append(equal, e.ID+": "+strings.Join(names, ", "))
			}
		}
		writeCells(b, append(cells, strings.Join(equal, "; ")))
	}
	return b.Flush()
}

// writeCells writes a line. The writer keeps its first error until Flush.
func writeCells(b *bufio.Writer, cells []string) {
	for i, c := range cells {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_, _ = b.WriteString(cell(c))
	}
	_, _ = b.WriteString("\r\n")
}

// cell is a text as a cell that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe before
// it. Other separators than the comma are quoted too, because a spreadsheet may split at them.
func cell(text string) string {
	begin := strings.TrimLeftFunc(text, unicode.IsSpace)
	if strings.ContainsRune("\t\r\n", first(text)) || strings.ContainsRune("=+-@|%＝＋－＠", first(begin)) {
		text = "'" + text
	}
	if strings.ContainsAny(text, ",;|\"\t\r\n") || strings.TrimSpace(text) != text {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}

// first is the first character, or one that no text has where it is looked for.
func first(text string) rune {
	for _, r := range text {
		return r
	}
	return -1
}
