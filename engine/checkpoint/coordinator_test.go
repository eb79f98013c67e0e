package checkpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"weir/engine/metric"
)

// at formats a moment of a script as ms since its start.
func at(t time.Time) string { return fmt.Sprintf("%dms", t.Sub(epoch).Milliseconds()) }

func (c Command) line() string {
	switch c.Kind {
	case TriggerSources:
		s := fmt.Sprintf("trigger %d at %v", c.ID, c.Tasks)
		if c.Barrier.Options.Type.IsSavepoint() {
			s += " savepoint"
		}
		if c.Stop {
			s += " and stop"
		}
		return s
	case WriteFinished:
		return fmt.Sprintf("write finished %d of %s: %d bytes", c.ID, c.Task, c.State.Bytes())
	case NotifyAborted:
		s := fmt.Sprintf("notify aborted %d: %s", c.ID, c.Detail)
		if c.Stop {
			s += " (sources go on)"
		}
		return s
	case FailJob:
		return "fail job: " + c.Detail
	}
	return fmt.Sprintf("%s %d", c.Kind, c.ID)
}

// script drives a coordinator from a data-driven test.
type script struct {
	c   *Coordinator
	now time.Time
	out strings.Builder
}

func (s *script) print(cmds []Command) {
	for _, c := range cmds {
		fmt.Fprintln(&s.out, c.line())
	}
}

func (s *script) state() {
	c := s.c
	fmt.Fprintf(&s.out, "%s: ", at(s.now))
	switch p := c.pending; {
	case p == nil:
		s.out.WriteString("none runs")
	case p.finalizing:
		fmt.Fprintf(&s.out, "%d lacks its metadata", p.id)
	default:
		fmt.Fprintf(&s.out, "%d runs, %d of %d acknowledged", p.id, len(c.tasks)-p.left, len(c.tasks))
	}
	if c.queued != nil {
		fmt.Fprintf(&s.out, ", %d waits", c.queued.id)
	}
	ids := []int64{}
	for _, r := range c.retained {
		ids = append(ids, r.ID)
	}
	fmt.Fprintf(&s.out, ", retained %v", ids)
	if t, ok := c.NextDeadline(); ok {
		fmt.Fprintf(&s.out, ", next %s", at(t))
	}
	s.out.WriteByte('\n')
}

func parseTask(text string) TaskID {
	i := strings.LastIndexByte(text, '-')
	n, _ := strconv.Atoi(text[i+1:])
	return TaskID{text[:i], n}
}

func history(h []metric.Checkpoint, subtasks bool) string {
	var b strings.Builder
	for _, cp := range h {
		fmt.Fprintf(&b, "%d %s %s triggered=%dms duration=%dms bytes=%d", cp.ID, cp.Type, cp.Status, cp.TriggerMs, cp.EndToEndDurationMs, cp.CheckpointedBytes)
		if cp.ProcessedBytes > 0 {
			fmt.Fprintf(&b, " processed=%d", cp.ProcessedBytes)
		}
		if cp.Path != "" {
			fmt.Fprintf(&b, " path=%s", cp.Path)
		}
		if cp.Failure != "" {
			fmt.Fprintf(&b, " failure=%q", cp.Failure)
		}
		b.WriteByte('\n')
		if !subtasks {
			continue
		}
		for _, s := range cp.Subtasks {
			fmt.Fprintf(&b, "  %s %d acknowledged=%v startDelay=%v alignment=%v sync=%v async=%v endToEnd=%v bytes=%d processed=%d\n",
				s.Vertex, s.Subtask, s.Acknowledged, s.StartDelayMs, s.AlignmentMs, s.SyncMs, s.AsyncMs, s.EndToEndMs, s.CheckpointedBytes, s.ProcessedBytes)
		}
	}
	return b.String()
}

// TestCoordinatorScripts runs the scripts of the coordinator: what it wants done, then one line of where it stands.
func TestCoordinatorScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/coordinator", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			num := func(name string, def int) int {
				if d.HasArg(name) {
					d.ScanArgs(t, name, &def)
				}
				return def
			}
			str := func(name string) (v string) {
				if d.HasArg(name) {
					d.ScanArgs(t, name, &v)
				}
				return v
			}
			id := int64(num("id", 0))
			var task TaskID
			if d.HasArg("task") {
				task = parseTask(str("task"))
			}
			config := func() Config {
				ms := func(name string, def int) time.Duration { return time.Duration(num(name, def)) * time.Millisecond }
				return Config{
					Interval: ms("interval", 0), MinPause: ms("minpause", 0), Timeout: ms("timeout", 600000),
					ToleratedFailures: num("tolerated", 0), Retained: num("retained", 1),
				}
			}
			switch d.Cmd {
			case "new", "restart":
				past := Past{}
				if d.Cmd == "restart" {
					past = s.c.Past(s.now)
				} else {
					s.now = epoch
				}
				s.c = NewCoordinator(config(), []CoordinatedVertex{
					{ID: "source", Parallelism: num("sources", 2), MaxParallelism: 128, Source: true},
					{ID: "count", Parallelism: num("counts", 2), MaxParallelism: 128, MaxParallelismDerived: true},
				}, past, epoch, s.now)
			case "configure":
				s.print(s.c.Configure(config(), s.now))
			case "wait": // lets time pass, calling Tick at each deadline
				end := s.now.Add(time.Duration(num("ms", 0)) * time.Millisecond)
				for {
					next, ok := s.c.NextDeadline()
					if !ok || next.After(end) {
						break
					}
					s.now = next
					cmds := s.c.Tick(s.now)
					if len(cmds) == 0 {
						d.Fatalf(t, "nothing was due at %s", at(next))
					}
					for _, c := range cmds {
						fmt.Fprintf(&s.out, "%s %s\n", at(s.now), c.line())
					}
				}
				s.now = end
				s.print(s.c.Tick(s.now))
			case "ack":
				ns := func(name string) int64 { return int64(num(name, 0)) * 1e6 }
				a := Ack{Checkpoint: id, Task: task, StartDelayNs: ns("startdelay"), AlignmentNs: ns("alignment"), SyncNs: ns("sync"), AsyncNs: ns("async"), ProcessedBytes: int64(num("processed", 0))}
				if n := num("bytes", 0); n > 0 {
					a.Handle = Handle{File: str("task"), Bytes: int64(n)}
				}
				if !s.c.Accepts(a) {
					s.out.WriteString("not accepted\n")
				}
				s.print(s.c.Ack(a, s.now))
			case "ackall":
				for i := range s.c.tasks {
					s.print(s.c.Ack(Ack{Checkpoint: id, Task: s.c.tasks[i].TaskID}, s.now))
				}
			case "written":
				if p := s.c.pending; p != nil && p.id == id {
					p.completed.Path = fmt.Sprintf("chk-%d", id)
				}
				s.print(s.c.MetadataWritten(id, s.now))
			case "decline":
				why := map[string]Reason{"": Declined, "cancel": OnCancellationBarrier, "subsumed": BySubsumption, "write": WriteFailed, "closing": TaskClosing}[str("why")]
				var err error
				if why == WriteFailed {
					err = errors.New("no space left on device")
				}
				s.print(s.c.Decline(id, task, why, err, s.now))
			case "begin-failed":
				s.print(s.c.Failed(id, BeginFailed, errors.New("permission denied"), s.now))
			case "metadata-failed":
				s.print(s.c.Failed(id, FinalizeFailed, errors.New("no space left on device"), s.now))
			case "finished":
				var state *TaskState
				if n := num("bytes", 0); n > 0 {
					state = &TaskState{Operators: map[string]*OperatorState{"op": {Splits: [][]byte{make([]byte, n)}}}}
				}
				s.print(s.c.Finished(task, state, int64(num("last", 0)), s.now))
			case "trigger":
				typ := TypeCheckpoint
				if d.HasArg("savepoint") {
					typ = TypeSavepoint
				}
				id, cmds, err := s.c.Trigger(typ, s.now)
				if err != nil {
					return "refused: " + err.Error() + "\n"
				}
				fmt.Fprintf(&s.out, "id %d\n", id)
				s.print(cmds)
			case "stop":
				id, cmds, err := s.c.Stop(s.now)
				if err != nil {
					return "refused: " + err.Error() + "\n"
				}
				fmt.Fprintf(&s.out, "id %d\n", id)
				s.print(cmds)
			case "shutdown":
				s.print(s.c.Shutdown(s.now))
			case "history":
				return history(s.c.History(s.now), d.HasArg("subtasks"))
			case "metadata": // of the newest retained
				for _, v := range s.c.Latest().Vertices {
					fmt.Fprintf(&s.out, "%s parallelism=%d max=%d derived=%v\n", v.ID, v.Parallelism, v.MaxParallelism, v.MaxParallelismDerived)
					for i, sub := range v.Subtasks {
						fmt.Fprintf(&s.out, "  %d file=%q bytes=%d finished=%v\n", i, sub.File, sub.Bytes, sub.Finished)
					}
				}
				return s.out.String()
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			s.state()
			return s.out.String()
		})
	})
}
