package runner

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"weir/exercises/kit"
	"weir/labs"
)

// words of the text report.
var words = map[string]labs.Text{
	string(kit.Passed):    {En: "passed", Zh: "通过"},
	string(kit.Failed):    {En: "failed", Zh: "未通过"},
	string(kit.NotRun):    {En: "not run", Zh: "未运行"},
	string(kit.NotJudged): {En: "not judged", Zh: "无法评判"},
	string(kit.Error):     {En: "error", Zh: "出错"},
	"points":              {En: "%d of %d points", Zh: "%d / %d 分"},
	"expected":            {En: "expected", Zh: "期望"},
	"seen":                {En: "seen", Zh: "实际"},
	"where":               {En: "where", Zh: "位置"},
	"try":                 {En: "try", Zh: "建议"},
	"again":               {En: "again", Zh: "重现"},
	"hidden":              {En: "a hidden check", Zh: "一个隐藏检查"},
	"wasHidden":           {En: " (hidden)", Zh: "（隐藏）"},
	"sum":                 {En: "%d of %d exercises passed, %d of %d points.", Zh: "%d / %d 个练习通过，得 %d / %d 分。"},
}

// Text writes the report for people: for each check what was expected, what was seen, where to look and what to try.
func (r *Report) Text(w io.Writer, lang string) error {
	b := bufio.NewWriter(w)
	word := func(name string) string { return words[name].In(lang) }
	for i := range r.Exercises {
		e := &r.Exercises[i]
		_, _ = fmt.Fprintf(b, "%s: %s, %s · %s\n", e.ID, word(string(e.Status)), fmt.Sprintf(word("points"), e.Points, e.MaxPoints), e.Title)
		if e.Problem != "" {
			_, _ = fmt.Fprintf(b, "  %s\n", indented(e.Problem, 2))
			continue
		}
		for j := range e.Checks {
			e.Checks[j].text(b, word)
		}
	}
	points, maxPoints := r.Sum()
	_, _ = fmt.Fprintf(b, word("sum")+"\n", r.Passed(), len(r.Exercises), points, maxPoints)
	return b.Flush()
}

func (c *CheckReport) text(b io.Writer, word func(string) string) {
	name := c.Name
	switch {
	case name == "":
		name = word("hidden")
	case c.Hidden:
		name += word("wasHidden")
	}
	_, _ = fmt.Fprintf(b, "  %s %d/%d  %s\n", padded(word(string(c.Status)), 10), c.Points, c.MaxPoints, name)
	for _, part := range []struct{ name, text string }{
		{"expected", c.Expected}, {"seen", c.Seen}, {"where", c.Where}, {"try", c.Try}, {"again", c.Command},
	} {
		if part.text != "" {
			_, _ = fmt.Fprintf(b, "      %s %s\n", padded(word(part.name), 8), indented(part.text, 15))
		}
	}
}

// padded fills a word up to a width on screen, where a Chinese character takes two columns.
func padded(s string, width int) string {
	columns := 0
	for _, c := range s {
		columns++
		if c > 0x2e80 {
			columns++
		}
	}
	return s + strings.Repeat(" ", max(0, width-columns))
}

// indented keeps the further lines of a text below its first.
func indented(s string, columns int) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+strings.Repeat(" ", columns))
}
