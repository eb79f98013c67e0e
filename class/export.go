package class

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ExportFormat names an export in its first field; a reader of another file knows at once.
const ExportFormat = "weir class export 1"

// Export is all of a class that is of use elsewhere, as JSON has it. Tokens and the join code are not in it.
type Export struct {
	Format    string             `json:"format"`
	Exported  time.Time          `json:"exported"`
	Class     ExportedClass      `json:"class"`
	Exercises []Exercise         `json:"exercises"`
	Deadlines []ExportedDeadline `json:"deadlines"`
	Equal     []Equal            `json:"equalSources"`
	Questions []ExportedQuestion `json:"questions"`
	Audit     []ExportedAudit    `json:"audit"`
	People    []ExportedPerson   `json:"people"` // the last field: it is written person by person
}

// ExportedClass is what a class is called.
type ExportedClass struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Zone    string    `json:"zone"`
	State   State     `json:"state"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// ExportedDeadline is a deadline with the extensions of it, by the people's IDs.
type ExportedDeadline struct {
	Exercise   string               `json:"exercise"`
	Due        time.Time            `json:"due"`
	Shown      string               `json:"shown"` // in the class's zone
	Penalty    int                  `json:"penalty"`
	Extensions map[string]time.Time `json:"extensions,omitempty"`
}

// ExportedQuestion is a question with the choice of each person, by ID.
type ExportedQuestion struct {
	Text    string         `json:"text"`
	Choices []string       `json:"choices"`
	Asked   time.Time      `json:"asked"`
	Answers map[string]int `json:"answers"`
}

// ExportedAudit is something that the instructor did.
type ExportedAudit struct {
	At    time.Time `json:"at"`
	Who   string    `json:"who"`
	What  string    `json:"what"`
	About string    `json:"about,omitempty"`
}

// ExportedPerson is a row of the grade book with all results.
type ExportedPerson struct {
	ID      string           `json:"id"`
	Name    string           `json:"name"`
	Alias   string           `json:"alias,omitempty"`
	Joined  time.Time        `json:"joined"`
	Total   int              `json:"total"`
	Max     int              `json:"max"`
	Grades  []ExportedGrade  `json:"grades"`
	Results []ExportedResult `json:"results"`
}

// ExportedGrade is what counts for one exercise.
type ExportedGrade struct {
	Exercise  string   `json:"exercise"`
	Result    string   `json:"result"`
	Points    int      `json:"points"`
	MaxPoints int      `json:"maxPoints"`
	Judged    string   `json:"judged"` // verified or reported
	Late      bool     `json:"late"`
	Tries     int      `json:"tries"`
	EqualTo   []string `json:"equalTo,omitempty"` // names
}

// ExportedResult is one that was handed in. Points are before the penalty.
type ExportedResult struct {
	ID        string          `json:"id"`
	Exercise  string          `json:"exercise"`
	Status    string          `json:"status"`
	Points    int             `json:"points"`
	MaxPoints int             `json:"maxPoints"`
	Judged    string          `json:"judged"`
	Verified  bool            `json:"verified"`
	Late      bool            `json:"late"`
	Engine    string          `json:"engine,omitempty"`
	Digest    string          `json:"digest,omitempty"`
	Sent      time.Time       `json:"sent"`
	Received  time.Time       `json:"received"`
	Report    json.RawMessage `json:"report,omitempty"`
	Work      *Work           `json:"work,omitempty"`
}

// ExportResult is a result as an export has it, without its work.
func ExportResult(r *Result) ExportedResult {
	x := ExportedResult{
		ID: r.ID, Exercise: r.Exercise, Status: r.Status, Points: r.Points, MaxPoints: r.MaxPoints, Judged: r.Judged(), Verified: r.Verified,
		Late: r.Late, Engine: r.Engine, Digest: r.Digest, Sent: r.Sent, Received: r.Received,
	}
	if json.Valid(r.Report) {
		x.Report = r.Report
	}
	return x
}

// NewExport makes the export of a grade book and the records it was made of.
func NewExport(g *GradeBook, r *Records, now time.Time) *Export {
	x := &Export{
		Format: ExportFormat, Exported: now.UTC(), Exercises: append([]Exercise{}, g.Exercises...), Deadlines: []ExportedDeadline{},
		Equal: append([]Equal{}, g.Equal...), Questions: []ExportedQuestion{}, Audit: []ExportedAudit{}, People: []ExportedPerson{},
		Class: ExportedClass{r.Class.ID, r.Class.Name, r.Class.Zone, r.Class.State, r.Class.Created, r.Class.Expires},
	}
	for _, d := range r.Deadlines {
		one := ExportedDeadline{Exercise: d.Exercise, Due: d.Due, Shown: ShowTime(d.Due, r.Class.Zone), Penalty: d.Penalty}
		for _, e := range r.Extensions {
			if e.Exercise == d.Exercise {
				if one.Extensions == nil {
					one.Extensions = map[string]time.Time{}
				}
				one.Extensions[e.Person] = e.Due
			}
		}
		x.Deadlines = append(x.Deadlines, one)
	}
	for _, q := range r.Questions {
		one := ExportedQuestion{Text: q.Text, Choices: q.Choices, Asked: q.Asked, Answers: map[string]int{}}
		for _, a := range r.Answers {
			if a.Question == q.ID {
				one.Answers[a.Person] = a.Choice
			}
		}
		x.Questions = append(x.Questions, one)
	}
	for _, a := range r.Audit {
		x.Audit = append(x.Audit, ExportedAudit{a.At, a.Who, a.What, a.About})
	}
	results := map[string][]ExportedResult{}
	for i := range r.Results {
		results[r.Results[i].Person] = append(results[r.Results[i].Person], ExportResult(&r.Results[i]))
	}
	for i := range g.Rows {
		x.People = append(x.People, g.exportRow(&g.Rows[i], results[g.Rows[i].Person.ID]))
	}
	return x
}

func (g *GradeBook) exportRow(r *GradeRow, results []ExportedResult) ExportedPerson {
	p := ExportedPerson{
		ID: r.Person.ID, Name: r.Person.Name, Alias: r.Person.Alias, Joined: r.Person.Joined, Total: r.Total, Max: r.Max,
		Grades: []ExportedGrade{}, Results: append([]ExportedResult{}, results...),
	}
	for j, e := range g.Exercises {
		if grade := &r.Grades[j]; grade.Result != nil {
			p.Grades = append(p.Grades, ExportedGrade{
				Exercise: e.ID, Result: grade.Result.ID, Points: grade.Points, MaxPoints: e.MaxPoints, Judged: grade.Result.Judged(),
				Late: grade.Result.Late, Tries: grade.Tries, EqualTo: g.equalTo(r.Person.ID, e.ID),
			})
		}
	}
	return p
}

// JSON writes an export. work gives the work of a result by its ID, one person at a time, so that the work of a whole
// course is never in memory; nil leaves the work out.
func (x *Export) JSON(w io.Writer, work func(result string) ([]byte, error)) error {
	b := bufio.NewWriter(w)
	head := *x
	head.People = []ExportedPerson{}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	const end = "]}" // of the empty list of people and of all
	_, _ = b.Write(text[:len(text)-len(end)])
	for i, p := range x.People {
		if work != nil {
			p.Results = append([]ExportedResult{}, p.Results...)
			for j := range p.Results {
				handed, err := work(p.Results[j].ID)
				if errors.Is(err, ErrNotFound) {
					continue // deleted by its learner meanwhile
				}
				if err != nil {
					return fmt.Errorf("the work of result %s: %w", p.Results[j].ID, err)
				}
				p.Results[j].Work = ParseWork(handed)
			}
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_ = b.WriteByte('\n')
		if _, err := b.Write(text); err != nil {
			return err
		}
	}
	_, _ = b.WriteString(end + "\n")
	return b.Flush()
}

// PersonalData is all that a class has of one person, which they may take with them.
type PersonalData struct {
	Exported   time.Time            `json:"exported"`
	Class      string               `json:"class"`
	ID         string               `json:"id"`
	Names      []string             `json:"names"` // more than one after a merge
	Alias      string               `json:"alias,omitempty"`
	Joined     time.Time            `json:"joined"`
	Seen       time.Time            `json:"seen"`
	Place      Place                `json:"place"`
	Progress   json.RawMessage      `json:"progress,omitempty"`
	Results    []ExportedResult     `json:"results"`
	Answers    []PersonalAnswer     `json:"answers"`
	Extensions map[string]time.Time `json:"extensions"`
	Sessions   []PersonalSession    `json:"sessions"`
}

// PersonalAnswer is an answer with its question.
type PersonalAnswer struct {
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	At       time.Time `json:"at"`
}

// PersonalSession is a session without what is the server's own.
type PersonalSession struct {
	ID      string         `json:"id"`
	Lab     string         `json:"lab"`
	Knobs   map[string]any `json:"knobs,omitempty"`
	Started time.Time      `json:"started"`
}
