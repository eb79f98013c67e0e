package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"weir/engine/keygroup"
	"weir/engine/serde"
)

// TestInFlight: it is complete when the input side and each output queue have told; later additions count for nothing.
func TestInFlight(t *testing.T) {
	f := NewInFlight(7, 2)
	buffer := []byte("abc")
	f.AddInput(1, buffer)
	buffer[0] = 'X' // a segment is written again
	f.AddInput(0, []byte("de"))
	f.AddInput(1, []byte("f"))
	f.AddOutput(3, []byte("ghij"))
	f.OutputDone(0)
	f.FinishInput(5, 6)
	select {
	case <-f.Done():
		t.Fatal("it is complete, though an output queue has not told")
	default:
	}
	f.OutputDone(1)
	<-f.Done()
	f.AddInput(0, []byte("late"))
	f.Fail(errors.New("late"))
	var s TaskState
	n, alignment, processed := f.Result(&s)
	want := TaskState{Inputs: []ChannelState{{Channel: 0, Buffers: splits("de")}, {Channel: 1, Buffers: splits("abc", "f")}},
		Outputs: []ChannelState{{Channel: 3, Buffers: splits("ghij")}}}
	if f.Err() != nil || n != 10 || alignment != 5 || processed != 6 || !reflect.DeepEqual(s, want) {
		t.Errorf("%v, %d bytes, %d ns, %d bytes processed, %+v", f.Err(), n, alignment, processed, s)
	}
	if s.InFlightBytes() != 10 || s.Bytes() != 10 || s.empty() {
		t.Errorf("in flight %d, bytes %d, empty %v", s.InFlightBytes(), s.Bytes(), s.empty())
	}
}

// TestInFlightFails: a checkpoint that is given up lets everything go.
func TestInFlightFails(t *testing.T) {
	f := NewInFlight(7, 1)
	f.AddInput(1, []byte("abc"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { f.Fail(ErrAborted); f.OutputDone(0) })
	}
	wg.Wait()
	<-f.Done()
	var s TaskState
	if n, _, _ := f.Result(&s); !errors.Is(f.Err(), ErrAborted) || n != 0 || s.Inputs != nil {
		t.Errorf("%v, %d bytes, %+v", f.Err(), n, s)
	}
}

// TestStateFileVersions: data in flight makes a state file of version 2; without it the file is as it was before.
func TestStateFileVersions(t *testing.T) {
	s := sampleState(3)
	for _, version := range []byte{1, 2} {
		if version == 2 {
			s.Inputs = []ChannelState{{Channel: 0, Buffers: splits("in", "")}, {Channel: 5}}
			s.Outputs = []ChannelState{{Channel: 2, Buffers: splits("out")}}
		}
		var b bytes.Buffer
		if _, _, err := writeState(&b, s); err != nil {
			t.Fatal(err)
		}
		if got := b.Bytes()[9]; got != version {
			t.Errorf("version %d, expected %d", got, version)
		}
		read, err := parseState(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !sameState(read, s) || !reflect.DeepEqual(read.Outputs, s.Outputs) {
			t.Errorf("version %d: %+v, expected %+v", version, read, s)
		}
		for n := range b.Len() {
			if _, err := parseState(b.Bytes()[:n]); err == nil {
				t.Errorf("version %d: %d of %d bytes were taken for whole", version, n, b.Len())
			}
		}
	}
}

// TestBarrierOptions: only a periodic or manual checkpoint is unaligned.
func TestBarrierOptions(t *testing.T) {
	timeout := serde.TimeoutableOptions(250)
	for _, c := range []struct {
		cfg       Config
		savepoint bool
		stop      bool
		want      serde.CheckpointOptions
	}{
		{Config{}, false, false, serde.AlignedOptions()},
		{Config{AlignedTimeout: time.Second}, false, false, serde.AlignedOptions()},
		{Config{Unaligned: true}, false, false, serde.UnalignedOptions()},
		{Config{Unaligned: true, AlignedTimeout: 250 * time.Millisecond}, false, false, timeout},
		{Config{Unaligned: true}, true, false, serde.CheckpointOptions{Type: serde.Savepoint, Alignment: serde.Aligned, AlignedTimeoutMs: serde.NoAlignedTimeout}},
		{Config{Unaligned: true, AlignedTimeout: time.Second}, false, true, serde.AlignedOptions()},
	} {
		core := NewCoordinator(c.cfg, []CoordinatedVertex{{ID: "source", Parallelism: 1, MaxParallelism: 128, Source: true}}, Past{}, epoch, epoch)
		var cmds []Command
		var err error
		switch {
		case c.stop:
			_, cmds, err = core.Stop(epoch)
		case c.savepoint:
			_, cmds, err = core.Trigger(TypeSavepoint, epoch)
		default:
			_, cmds, err = core.Trigger(TypeCheckpoint, epoch)
		}
		if err != nil || len(cmds) == 0 || cmds[0].Barrier.Options != c.want {
			t.Errorf("%+v: %v %+v, expected options %+v", c, err, cmds, c.want)
		}
	}
}

// inFlightOf makes a vertex whose old subtask i has one buffer "i:c" in each of so many channels.
func inFlightOf(old, channels, parallelism int, output bool) *Assignment {
	a := &Assignment{MaxParallelism: 128}
	a.fill(parallelism)
	for i := range old {
		s := &TaskState{}
		for c := range channels {
			state := ChannelState{Channel: c, Buffers: [][]byte{fmt.Appendf(nil, "%d:%d", i, c)}}
			if output {
				s.Outputs = append(s.Outputs, state)
			} else {
				s.Inputs = append(s.Inputs, state)
			}
		}
		a.old = append(a.old, s)
	}
	return a
}

// oldInputs and oldOutputs are the old subtasks that each new one takes data from.
func oldInputs(r *Recovery) (list [][]int) {
	for _, in := range r.Inputs {
		list = append(list, subtasksOf(in, func(c ChannelState) int { return c.Subtask }))
	}
	return list
}

func oldOutputs(r *Recovery) (list [][]int) {
	for _, out := range r.Outputs {
		list = append(list, subtasksOf(out, func(o RecoveredOutput) int { return o.Subtask }))
	}
	return list
}

func subtasksOf[T any](in []T, of func(T) int) (list []int) {
	seen := map[int]bool{}
	for i := range in {
		seen[of(in[i])] = true
	}
	for i := range 16 {
		if seen[i] {
			list = append(list, i)
		}
	}
	return list
}

// TestInFlightMapping is SAO-05 to SAO-07: which old subtasks the new ones take data in flight from.
func TestInFlightMapping(t *testing.T) {
	for _, c := range []struct {
		id       string
		old, p   int
		in, out  [][]int
		rescaled bool
	}{
		{"SAO-05", 3, 2, [][]int{{0, 1}, {1, 2}}, [][]int{{0, 2}, {1}}, true},
		{"SAO-06", 2, 3, [][]int{{0}, {0, 1}, {1}}, [][]int{{0}, {1}, nil}, true},
		{"SAO-07", 2, 2, [][]int{{0}, {1}}, [][]int{{0}, {1}}, false},
	} {
		from, to := inFlightOf(c.old, c.old, c.p, true), inFlightOf(c.old, c.old, c.p, false)
		r, err := AssignInFlight(from, to, ByRange)
		if err != nil {
			t.Fatal(err)
		}
		if in, out := oldInputs(r), oldOutputs(r); !reflect.DeepEqual(in, c.in) || !reflect.DeepEqual(out, c.out) || r.Rescaled != c.rescaled || r.Filter != c.rescaled {
			t.Errorf("%s: inputs %v, outputs %v, rescaled %v, filter %v", c.id, in, out, r.Rescaled, r.Filter)
		}
	}
	// Only one end changes: its channels are others for the other end too. Dealt in turn, no record has one owner only.
	for _, c := range []struct {
		oldFrom, from, oldTo, to int
	}{{3, 2, 2, 2}, {2, 2, 3, 2}} {
		r, err := AssignInFlight(inFlightOf(c.oldFrom, c.oldTo, c.from, true), inFlightOf(c.oldTo, c.oldFrom, c.to, false), InTurn)
		if err != nil || !r.Rescaled || r.Filter {
			t.Errorf("%+v in turn: %+v, %v, expected it rescaled without a filter", c, r, err)
		}
	}
}

// TestInFlightOneSided is SAO-09: only one end of the exchange has data in flight; and none at all.
func TestInFlightOneSided(t *testing.T) {
	stateless := func(old, p int) *Assignment { return inFlightOf(old, 0, p, true) }
	r, err := AssignInFlight(inFlightOf(2, 2, 3, true), stateless(2, 3), ByRange)
	if err != nil || !r.Rescaled || len(r.Inputs) != 3 || len(r.Outputs[0]) != 4 { // to 0: subpartition 0 for 0 and 1, 1 for 1 and 2
		t.Errorf("only outputs: %v %+v", err, r)
	}
	r, err = AssignInFlight(stateless(2, 3), inFlightOf(2, 2, 3, false), ByRange)
	if err != nil || len(r.Outputs) != 3 || len(r.Inputs[1]) != 4 {
		t.Errorf("only inputs: %v %+v", err, r)
	}
	if r, err = AssignInFlight(stateless(2, 3), stateless(2, 3), ByRange); r != nil || err != nil {
		t.Errorf("nothing in flight: %v %+v", err, r)
	}
}

// TestInFlightOfSeveralExchanges is SAO-11 and SAO-12: of a vertex with a forward and a hash exchange, or with several gates,
// only the exchange with data in flight is restored and rescaled.
func TestInFlightOfSeveralExchanges(t *testing.T) {
	source, middle := inFlightOf(2, 0, 3, true), inFlightOf(2, 2, 3, true) // the forward exchange between them has none
	sink, other := inFlightOf(2, 2, 3, false), inFlightOf(2, 0, 3, true)
	for _, c := range []struct {
		what     string
		from, to *Assignment
		mapping  Mapping
		any      bool
	}{
		{"forward", source, inFlightOf(2, 0, 3, false), InTurn, false},
		{"hash", middle, sink, ByRange, true},
		{"another gate, without state", other, inFlightOf(2, 0, 3, false), ByRange, false},
	} {
		r, err := AssignInFlight(c.from, c.to, c.mapping)
		if err != nil || (r != nil) != c.any || r != nil && !r.Rescaled {
			t.Errorf("%s: %+v, %v, expected data in flight: %v", c.what, r, err, c.any)
		}
	}
}

// TestInFlightReachesItsOwner: under every change of parallelism, what was in flight to an old subtask reaches each new one
// that owns some of its key groups, with the input before the output of the same pair; with InTurn exactly one.
func TestInFlightReachesItsOwner(t *testing.T) {
	for old := 1; old <= 6; old++ {
		for p := 1; p <= 6; p++ {
			from, to := inFlightOf(old, old, p, true), inFlightOf(old, old, p, false)
			for _, m := range []Mapping{ByRange, InTurn} {
				r, err := AssignInFlight(from, to, m)
				if err != nil {
					t.Fatal(err)
				}
				outputs := make([]map[string]int, p) // by new consumer
				for i := range outputs {
					outputs[i] = map[string]int{}
				}
				for _, list := range r.Outputs {
					for _, o := range list {
						outputs[o.Subpartition][fmt.Sprintf("%d:%d", o.Subtask, o.Channel)]++
					}
				}
				for producer := range old {
					for consumer := range old {
						readers := 0
						for i := range p {
							in := 0
							for _, c := range r.Inputs[i] {
								if c.Subtask == consumer && c.Channel == producer {
									in++
								}
							}
							out := outputs[i][fmt.Sprintf("%d:%d", producer, consumer)]
							want := 0
							if m == InTurn && consumer%p == i || m == ByRange && meets(128, old, consumer, p, i) {
								want = 1
							}
							readers += in
							if in != want || out != want {
								t.Errorf("%d to %d, mapping %d: consumer %d gets input %d and output %d times from %d to %d, expected %d", old, p, m, i, in, out, producer, consumer, want)
							}
						}
						if readers == 0 || m == InTurn && readers != 1 {
							t.Errorf("%d to %d, mapping %d: %d to %d has %d readers", old, p, m, producer, consumer, readers)
						}
					}
				}
			}
		}
	}
}

func meets(groups, oldParallelism, old, parallelism, subtask int) bool {
	a, _ := keygroup.RangeFor(groups, oldParallelism, old)
	b, _ := keygroup.RangeFor(groups, parallelism, subtask)
	return a.First <= b.Last && b.First <= a.Last
}

// TestInFlightOfUnknownChannel: state that does not fit its vertex is refused, not dropped.
func TestInFlightOfUnknownChannel(t *testing.T) {
	for _, output := range []bool{false, true} {
		from, to := inFlightOf(2, 2, 2, true), inFlightOf(2, 2, 2, false)
		a := to
		if output {
			a = from
		}
		for _, list := range [][]ChannelState{a.old[1].Inputs, a.old[1].Outputs} {
			if len(list) > 0 {
				list[0].Channel = 9
			}
		}
		if r, err := AssignInFlight(from, to, ByRange); err == nil {
			t.Errorf("output %v: %+v", output, r)
		} else {
			t.Log(err)
		}
	}
}
