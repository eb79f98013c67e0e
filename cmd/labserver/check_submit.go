package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/class/remote"
	"weir/exercises/kit/runner"
)

const submitTries = 4

// submitPause is what lies between the first two tries; it doubles.
var submitPause = 500 * time.Millisecond

// classOf is the server that results are reported to; nil without one.
func classOf(f *checkFlags) (*remote.Client, error) {
	if f.submit == "" {
		return nil, nil
	}
	u, err := url.Parse(f.submit)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("--submit %q: give the address of the class's server, such as http://192.0.2.7:8090", f.submit)
	}
	u.RawQuery, u.Fragment = "", ""
	c, err := remote.New(strings.TrimRight(u.String(), "/"), f.token, remote.Options{CA: f.submitCA, CAFlag: "--submit-ca"})
	return c, asUsage(err)
}

// submit reports each exercise that has work.
func submit(ctx context.Context, to *remote.Client, report *runner.Report, work []*runner.Submission, s streams) error {
	defer to.Close()
	sent, waiting := 0, 0
	for i := range report.Exercises {
		e := &report.Exercises[i]
		if e.Work == "" {
			continue
		}
		body, err := runner.HandIn(rand.Text(), report.Engine, e, work[i], time.Now())
		if err != nil {
			return err
		}
		a, err := to.HandInPatiently(ctx, body, submitTries, submitPause)
		if err != nil {
			return fmt.Errorf("reporting exercise %s to %s: %w", e.ID, to.Server(), err)
		}
		if a.Status == http.StatusAccepted {
			waiting++
		}
		sent++
	}
	_, _ = fmt.Fprintf(s.err, "labserver: results reported: %d\n", sent)
	if waiting > 0 {
		_, _ = fmt.Fprintf(s.err, "labserver: %d of them wait at %s until the class's server can be reached\n", waiting, to.Server())
	}
	return nil
}
