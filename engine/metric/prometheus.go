package metric

import (
	"bufio"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// JobReadings are one job for the Prometheus endpoint.
type JobReadings struct {
	ID       string // of the job
	Name     string // empty takes the lab's
	Host     string // of the job manager; empty is localhost
	Snapshot *Snapshot
}

// Prometheus writes the readings as Flink's Prometheus reporter does: its family names, HELP and TYPE lines, labels and
// numbers. Only families are written whose readings exist here. A job without a Snapshot is left out.
func Prometheus(w io.Writer, jobs []JobReadings) error {
	e := &exposition{families: map[familyKey]*family{}}
	running, managers := 0, 0
	for i := range jobs {
		j := &jobs[i]
		if j.Snapshot == nil {
			continue
		}
		if j.Snapshot.State == "RUNNING" {
			running++
			managers += taskManagers(j.Snapshot)
		}
		e.job(j)
	}
	host := labels{{"host", "localhost"}}.text()
	e.gauge("jobmanager", "numRunningJobs", host, float64(running))
	e.gauge("jobmanager", "numRegisteredTaskManagers", host, float64(managers))
	return e.write(w)
}

func taskManagers(s *Snapshot) int {
	seen := map[int]bool{}
	for _, v := range s.Vertices {
		for i := range v.Subtasks {
			seen[v.Subtasks[i].TaskManager] = true
		}
	}
	return len(seen)
}

// FlinkID makes an id in Flink's form, 32 hex digits, out of a name such as a vertex's. The same name gives the same id.
func FlinkID(name string) string {
	sum := md5.Sum([]byte(name)) // a name, not a secret
	return hex.EncodeToString(sum[:])
}

type label struct{ name, value string }

type labels []label

// text writes the labels once for all samples that have them. It ends with a comma, as Flink's reporter does and the text
// format allows.
func (l labels) text() string {
	var b strings.Builder
	for _, x := range l {
		b.WriteString(x.name + `="` + escape.Replace(x.value) + `",`)
	}
	return b.String()
}

type familyKey struct{ scope, metric string }

type family struct {
	name, help, kind string
	samples          []byte // a line each
}

// exposition gathers samples by family, as the text format wants them, in the order of their first sample.
type exposition struct {
	families map[familyKey]*family
	order    []*family
}

// family finds or makes the family of a metric in a scope such as taskmanager_job_task.
func (e *exposition) family(scope, metric, kind string) *family {
	f := e.families[familyKey{scope, metric}]
	if f == nil {
		f = &family{name: "flink_" + scope + "_" + metric, help: fmt.Sprintf("%s (scope: %s)", metric, scope), kind: kind}
		e.families[familyKey{scope, metric}] = f
		e.order = append(e.order, f)
	}
	return f
}

// gauge adds a sample; labels are what labels.text writes.
func (e *exposition) gauge(scope, metric, labels string, value float64) {
	e.family(scope, metric, "gauge").sample("", labels, value)
}

func (e *exposition) summary(scope, metric, labels string, l *Latency) {
	f := e.family(scope, metric, "summary")
	f.sample("_count", labels, float64(l.Count))
	for i, q := range summaryQuantiles {
		f.sample("", labels+`quantile="`+strconv.FormatFloat(q, 'f', -1, 64)+`",`, l.Quantiles[i])
	}
}

func (f *family) sample(suffix, labels string, value float64) {
	b := append(f.samples, f.name...)
	b = append(append(append(b, suffix...), '{'), labels...)
	b = append(append(b, "} "...), javaDouble(value)...)
	f.samples = append(b, '\n')
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelValue replaces all but letters, digits, ':' and '_', as Flink's reporter does with names in labels.
func labelValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ':' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// javaDouble writes a number as Java does: 37.0, 1.795979297854E12.
func javaDouble(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return map[bool]string{true: "+Inf", false: "-Inf"}[v > 0]
	case v == 0 || a >= 1e-3 && a < 1e7:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, 64), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, err := strconv.Atoi(exponent)
	if err != nil { // FormatFloat always writes one
		return mantissa + "E" + exponent
	}
	return mantissa + "E" + strconv.Itoa(n)
}

func (e *exposition) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, f := range e.order {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		b.Write(f.samples)
	}
	return b.Flush() // holds the first error of all writes
}
