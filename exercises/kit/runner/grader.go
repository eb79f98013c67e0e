package runner

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"weir/exercises/kit"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit's XML: an exercise is a suite, a check a case.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: "weir"}
	for i := range r.Exercises {
		e := &r.Exercises[i]
		s := junitSuite{Name: e.ID, Properties: []junitProperty{
			{"engine", r.Engine}, {"points", fmt.Sprint(e.Points)}, {"maxPoints", fmt.Sprint(e.MaxPoints)}, {"work", e.Work},
		}}
		for j, c := range e.Checks {
			if e.Problem != "" && c.Status == kit.NotRun {
				c.Status, c.Seen = e.Status, e.Problem
			}
			k := junitCase{Name: c.title(j), Class: "weir." + e.ID}
			message := &junitMessage{Message: firstLine(c.Seen), Text: c.finding()}
			s.Tests++
			switch c.Status {
			case kit.Failed:
				k.Failure = message
				s.Failures++
			case kit.Error:
				k.Error = message
				s.Errors++
			case kit.NotRun, kit.NotJudged:
				message.Message = strings.TrimSuffix(string(c.Status)+": "+message.Message, ": ")
				k.Skipped = message
				s.Skipped++
			case kit.Passed:
			}
			s.Cases = append(s.Cases, k)
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// title is a check's name, or its number while it is hidden.
func (c *CheckReport) title(i int) string {
	if c.Name == "" {
		return fmt.Sprintf("hidden check %d", i+1)
	}
	return c.Name
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// finding is all that a check has to say, a line each.
func (c *CheckReport) finding() string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{
		{"expected", c.Expected}, {"seen", c.Seen}, {"where", c.Where}, {"try", c.Try}, {"again", c.Command},
	} {
		if part.text != "" {
			_, _ = fmt.Fprintf(&b, "%s: %s\n", part.name, part.text)
		}
	}
	return b.String()
}

type gradescope struct {
	Score  int              `json:"score"`
	Output string           `json:"output"`
	Format string           `json:"output_format"`
	Tests  []gradescopeTest `json:"tests"`
}

type gradescopeTest struct {
	Name     string `json:"name"`
	Number   string `json:"number"`
	Score    int    `json:"score"`
	MaxScore int    `json:"max_score"`
	Status   string `json:"status"`
	Output   string `json:"output,omitempty"`
}

// Gradescope writes the report as the results.json of a Gradescope autograder.
func (r *Report) Gradescope(w io.Writer) error {
	points, maxPoints := r.Sum()
	g := gradescope{
		Score: points, Format: "text", Tests: []gradescopeTest{},
		Output: fmt.Sprintf("%d of %d points, by %s", points, maxPoints, r.Engine),
	}
	for i := range r.Exercises {
		e := &r.Exercises[i]
		for j, c := range e.Checks {
			status := "failed"
			if c.Status == kit.Passed {
				status = "passed"
			}
			output := c.finding()
			switch {
			case e.Problem != "" && output == "":
				output = e.Problem
			case c.Status != kit.Passed && c.Status != kit.Failed:
				output = strings.TrimSpace(string(c.Status) + "\n" + output)
			}
			g.Tests = append(g.Tests, gradescopeTest{
				Name: e.ID + ": " + c.title(j), Number: fmt.Sprintf("%d.%d", i+1, j+1), Score: c.Points, MaxScore: c.MaxPoints,
				Status: status, Output: output,
			})
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(g)
}
