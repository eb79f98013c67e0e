package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/labs"
	"weir/web"
)

// viewersOptions say what to measure: how many websockets can follow one session.
type viewersOptions struct {
	counts     []int
	seconds    float64
	hz         int
	oneProcess bool
	class      bool
	pastBreak  bool
	profile    string
	follow     string // of the process that has the viewers: the stream's address
}

// viewersStep is what was measured with so many viewers.
type viewersStep struct {
	Viewers int `json:"viewers"`
	viewersSeen
	// Cores is CPU time of the server by time: with the session and the measuring, and of --one-process with the viewers.
	Cores         float64       `json:"cores"`
	ResidentBytes int64         `json:"residentBytes"`
	ViewerBytes   int64         `json:"bytesPerViewer"` // resident, beyond those without viewers
	Broken        []viewerFault `json:"broken"`
}

// viewersSeen is what the viewers themselves say.
type viewersSeen struct {
	Connected int `json:"connected"`
	// Hz are messages a second: of the viewer with the fewest, and in the mean.
	SlowestHz float64 `json:"slowestHz"`
	Hz        float64 `json:"hz"`
	// LongestGapMs is the longest time between two messages of one viewer.
	LongestGapMs int64   `json:"longestGapMs"`
	MessageBytes float64 `json:"messageBytes"` // in the mean, without the first of each viewer
	Failure      string  `json:"failure,omitempty"`
}

type viewerFault struct {
	What    string `json:"what"` // hz, cores, message bytes, connections
	Because string `json:"because"`
}

type viewersResult struct {
	Lab       string        `json:"lab"`
	CPUs      int           `json:"cpus"`
	Hz        int           `json:"askedHz"`
	Processes string        `json:"processes"`
	Steps     []viewersStep `json:"steps"`
	Most      int           `json:"most"`
	First     string        `json:"first"`
}

const (
	viewersLeastShare = 0.8 // of the rate that was asked for: 8 of 10 Hz
	viewersMostCores  = 1.0
	viewersMostBytes  = 2048 // of a message in the mean
)

func newBenchViewers(s streams) *cobra.Command {
	o := viewersOptions{}
	asJSON := false
	c := &cobra.Command{
		Use:   "viewers",
		Short: "How many websockets can follow one flagship session, and what breaks first",
		Long: "Serves one flagship session in this process, lets more and more websockets of another process follow it, and\n" +
			"stops when one gets less than 0.8 of its rate, the server takes more than one core, or messages grow beyond 2 KB.\n" +
			"With --class the session is in the spotlight of a class, and each viewer is a learner who has joined and follows with\n" +
			"a cookie, past the checks of who may see what.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rising("viewers", o.counts, 20_000); err != nil {
				return err
			}
			if !(o.seconds >= 1 && o.seconds <= 600) {
				return usage("--seconds: %v is not from 1 to 600", o.seconds)
			}
			if o.hz < 1 || o.hz > 30 {
				return usage("--hz: %d is not from 1 to 30", o.hz)
			}
			if o.follow != "" {
				cookies := make([]string, o.counts[0])
				if o.class {
					b, err := io.ReadAll(s.in)
					if err != nil {
						return err
					}
					cookies = strings.Fields(string(b))
				}
				return followAll(c.Context(), s.out, o.follow, cookies, o.seconds)
			}
			var live io.Writer
			if !asJSON {
				live = s.out
			}
			r, err := benchViewers(c.Context(), o, live, s.err)
			if c.Context().Err() != nil {
				return nil // cut short
			}
			if err != nil {
				return fmt.Errorf("bench viewers: %w", err)
			}
			if asJSON {
				return printJSON(s.out, r)
			}
			if r.First == "" {
				_, err = fmt.Fprintf(s.out, "nothing broke: %d viewers are served well on %d CPUs\n", r.Most, r.CPUs)
			} else {
				_, err = fmt.Fprintf(s.out, "%d viewers are served well on %d CPUs; first breaks: %s\n", r.Most, r.CPUs, r.First)
			}
			return err
		},
	}
	f := c.Flags()
	f.IntSliceVar(&o.counts, "viewers", []int{1, 50, 100, 200, 300, 500, 1000, 2000, 4000}, "numbers of viewers to measure, rising")
	f.Float64Var(&o.seconds, "seconds", 5, "measured at each number")
	f.IntVar(&o.hz, "hz", 10, "pictures a second that each viewer asks for")
	f.BoolVar(&o.oneProcess, "one-process", false, "have the viewers in this process too; cores then are those of both")
	f.BoolVar(&o.pastBreak, "past-break", false, "go on after one number broke")
	f.BoolVar(&o.class, "class", false, "have the viewers be learners of a class who follow its spotlight")
	f.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile of the server")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&o.follow, "follow", "", "the address of a stream")
	_ = f.MarkHidden("follow")
	return c
}

// benchViewers prints the steps on live, unless that is nil.
func benchViewers(ctx context.Context, o viewersOptions, live, errs io.Writer) (r viewersResult, err error) {
	r = viewersResult{Lab: "backpressure", CPUs: runtime.GOMAXPROCS(0), Hz: o.hz, Steps: []viewersStep{},
		Processes: "the server in this one, the viewers in a child"}
	if o.oneProcess {
		r.Processes = "server and viewers in this one"
	}
	if o.class {
		r.Processes += "; they are learners of a class who follow its spotlight"
	}
	if live != nil {
		_, _ = fmt.Fprintf(live, "%s, %d CPUs, %d Hz asked for\n%8s %9s %10s %8s %7s %14s %6s %6s %14s  %s\n", r.Processes, r.CPUs, o.hz,
			"viewers", "connected", "slowest Hz", "mean Hz", "gap ms", "bytes/message", "cores", "MB", "bytes/viewer", "broken")
	}
	url, k, stop, err := benchServer(ctx, r.Lab, o.class)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	stopProfile, err := cpuProfile(o.profile)
	if err != nil {
		return r, err
	}
	defer stopProfile()
	if !pause(ctx, 2*time.Second) { // until the job runs as it will
		return r, ctx.Err()
	}
	empty := labs.ResidentBytes()
	for _, n := range o.counts {
		cookies := make([]string, n) // none without a class
		if k != nil {
			if cookies, err = k.learners(ctx, n); err != nil {
				return r, err
			}
		}
		step, err := viewersOnce(ctx, o, fmt.Sprintf("%s?hz=%d", url, o.hz), cookies, errs)
		if err != nil {
			return r, err
		}
		step.ViewerBytes = max(0, step.ResidentBytes-empty) / int64(n)
		r.Steps = append(r.Steps, step)
		if live != nil {
			_, _ = fmt.Fprintf(live, "%8d %9d %10.1f %8.1f %7d %14.0f %6.2f %6d %14d ", n, step.Connected, step.SlowestHz, step.Hz, step.LongestGapMs,
				step.MessageBytes, step.Cores, step.ResidentBytes>>20, step.ViewerBytes)
			for _, f := range step.Broken {
				_, _ = fmt.Fprintf(live, " %s (%s)", f.What, f.Because)
			}
			_, _ = fmt.Fprintln(live)
		}
		switch {
		case len(step.Broken) == 0 && r.First == "":
			r.Most = n
		case len(step.Broken) > 0 && r.First == "":
			r.First = step.Broken[0].What
		}
		if r.First != "" && !o.pastBreak {
			break
		}
	}
	return r, nil
}

// benchServer serves a session and returns the address of its stream; of a class too, where the session is in the spotlight.
func benchServer(ctx context.Context, lab string, ofClass bool) (stream string, k *viewersClass, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "weir-bench-viewers-")
	if err != nil {
		return "", nil, nil, err
	}
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	o := web.Options{Addr: "127.0.0.1:0", DataDir: dir, Out: in}
	if ofClass {
		o.Class = &web.ClassOptions{}
	}
	go func() {
		err := web.Serve(ctx, o)
		_ = in.CloseWithError(errors.Join(err, io.EOF))
		served <- err
	}()
	stop = func() error {
		cancel()
		return errors.Join(<-served, os.RemoveAll(dir))
	}
	said := viewersClass{}
	for lines := bufio.NewScanner(out); (said.url == "" || ofClass && said.code == "") && lines.Scan(); {
		if after, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			said.url = after
		} else if _, after, ok := strings.Cut(lines.Text(), "/class/i/"); ok {
			said.instructor = after
		} else if after, ok := strings.CutPrefix(lines.Text(), "join code: "); ok {
			said.code = after
		}
	}
	if said.url == "" {
		return "", nil, nil, errors.Join(errors.New("the server did not start"), stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var started struct{ ID string }
	_, err = benchCall(ctx, said.url+"/api/v1/sessions", said.instructor, map[string]any{"lab": lab}, http.StatusCreated, &started)
	if err == nil && ofClass {
		k = &said
		err = k.spotlight(ctx, started.ID)
	}
	if err != nil {
		return "", nil, nil, errors.Join(err, stop())
	}
	return "ws" + strings.TrimPrefix(said.url, "http") + "/api/v1/sessions/" + started.ID + "/stream", k, stop, nil
}

// viewersOnce measures one number of viewers, each with its cookie or an empty one.
func viewersOnce(ctx context.Context, o viewersOptions, url string, cookies []string, errs io.Writer) (viewersStep, error) {
	n := len(cookies)
	s := viewersStep{Viewers: n, Broken: []viewerFault{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		var err error
		if o.oneProcess {
			err = followAll(ctx, in, url, cookies, o.seconds)
		} else {
			err = followInChild(ctx, o, in, errs, url, cookies)
		}
		_ = in.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	// The viewers say when all are there and settled, and what they saw when it is over.
	told := json.NewDecoder(out)
	var here viewersSeen
	err := told.Decode(&here)
	cpu, began := labs.ProcessCPU(), time.Now()
	if err == nil {
		err = told.Decode(&s.viewersSeen)
	}
	s.Cores = (labs.ProcessCPU() - cpu).Seconds() / time.Since(began).Seconds()
	s.ResidentBytes = labs.ResidentBytes()
	_ = out.Close()
	if e := <-ended; err != nil {
		return s, errors.Join(e, err)
	}
	broken := func(what, format string, args ...any) {
		s.Broken = append(s.Broken, viewerFault{what, fmt.Sprintf(format, args...)})
	}
	if s.Connected < n {
		broken("connections", "%d of %d: %s", s.Connected, n, s.Failure)
	}
	if least := viewersLeastShare * float64(o.hz); s.SlowestHz < least {
		broken("hz", "%.1f, not %.1f", s.SlowestHz, least)
	}
	if s.Cores > viewersMostCores {
		broken("cores", "%.2f, not %.0f", s.Cores, viewersMostCores)
	}
	if s.MessageBytes > viewersMostBytes {
		broken("message bytes", "%.0f, not %d", s.MessageBytes, viewersMostBytes)
	}
	return s, nil
}

// followInChild runs this program again for the viewers alone. It reads their cookies from its standard input, for the
// words of a command can be seen by all of the machine.
func followInChild(ctx context.Context, o viewersOptions, out, errs io.Writer, url string, cookies []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self, "bench", "viewers", "--follow", url, "--viewers", fmt.Sprint(len(cookies)), "--seconds", fmt.Sprint(o.seconds), "--class="+fmt.Sprint(o.class))
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(strings.Join(cookies, "\n")), out, errs
	return c.Run()
}

// viewerCount is what one viewer got while it counted.
type viewerCount struct {
	messages, bytes int64
	gap             time.Duration
	err             error
}

// followAll opens the viewers, a hundred a second at most at once, and writes a line when they are there and one of what
// they saw.
func followAll(ctx context.Context, out io.Writer, url string, cookies []string, seconds float64) error {
	n := len(cookies)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counting, over := make(chan struct{}), make(chan struct{})
	opened, counts := make(chan error, n), make(chan viewerCount, n)
	room := make(chan struct{}, 20)
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}}
	for _, cookie := range cookies {
		go func() {
			room <- struct{}{}
			c, err := follow(ctx, client, url, cookie)
			<-room
			opened <- err
			if err != nil {
				counts <- viewerCount{err: err}
				return
			}
			defer func() { _ = c.CloseNow() }()
			counts <- countMessages(ctx, c, counting, over)
		}()
	}
	var seen viewersSeen
	for range n {
		if err := <-opened; err != nil {
			seen.Failure = err.Error()
		} else {
			seen.Connected++
		}
	}
	told := json.NewEncoder(out)
	if !pause(ctx, time.Second) {
		return ctx.Err()
	}
	close(counting)
	if err := told.Encode(seen); err != nil {
		return err
	}
	began := time.Now()
	if !pause(ctx, time.Duration(seconds*float64(time.Second))) {
		return ctx.Err()
	}
	close(over)
	took := time.Since(began).Seconds()
	var messages, bytes int64
	var each []float64
	for range n {
		v := <-counts
		if v.err != nil {
			seen.Failure = v.err.Error()
		}
		messages, bytes = messages+v.messages, bytes+v.bytes
		each = append(each, float64(v.messages)/took)
		seen.LongestGapMs = max(seen.LongestGapMs, v.gap.Milliseconds())
	}
	seen.SlowestHz, seen.Hz = slices.Min(each), float64(messages)/took/float64(n)
	if messages > 0 {
		seen.MessageBytes = float64(bytes) / float64(messages)
	}
	return told.Encode(seen)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
