package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// stateExperiment is the section "state" of experiments.json: the same keys under the same key groups, on real Flink.
type stateExperiment struct {
	KeysPerSubtask []int64 `json:"keysPerSubtask"`
	HashMap        struct {
		StateBytes int64 `json:"stateBytes"`
	} `json:"hashmap"`
	RocksDB struct {
		StateBytes        []int64 `json:"stateBytes"`
		CheckpointedBytes []int64 `json:"checkpointedBytes"`
	} `json:"rocksdb"`
	ScaleOut rescaleExperiment `json:"rescale2to3"`
	ScaleIn  rescaleExperiment `json:"rescale2to1"`
	Mismatch string            `json:"maxParallelismMismatch"`
}

type rescaleExperiment struct {
	KeysPerSubtask []int64 `json:"keysPerSubtask"`
	RestoredKeys   []int64 `json:"restoredKeys"`
	KeysOutOfRange []int64 `json:"keysOutOfRange"`
}

// The state of the experiment.
const (
	experimentKeys    = 1000
	experimentPayload = 1024
	experimentGroups  = 128
)

// Experiments replays of experiments.json what does not depend on the machine: where the keys of the state experiment
// lie before and after a rescale, on each backend, how large the state is, and which max parallelism is refused. Its
// times and rates are compared by the tests of jobs.
func Experiments(data []byte) (Report, error) {
	var file struct {
		State json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Report{}, fmt.Errorf("golden file: %w", err)
	}
	if file.State == nil {
		return Report{}, errors.New("golden file: it has no state experiment")
	}
	var want stateExperiment
	if err := json.Unmarshal(file.State, &want); err != nil {
		return Report{}, fmt.Errorf("golden file: its state experiment: %w", err)
	}
	var report Report
	for _, backend := range []string{"hashmap", lsm.Name} {
		e := experiment{backend: backend, shared: checkpoint.NewMemoryShared(), ids: lsm.NewStateIDs()}
		for _, check := range []func(*stateExperiment) error{e.checkFilled, e.checkSizes, e.checkScaleOut, e.checkScaleIn} {
			err := guarded(check, &want)
			if err != nil {
				err = fmt.Errorf("%s: %w", backend, err)
			}
			report.check(report.Cases, file.State, err)
		}
	}
	report.check(report.Cases, file.State, guarded(checkMismatch, &want))
	return report, nil
}

// experiment is the state of one operator on one backend.
type experiment struct {
	backend string
	shared  *checkpoint.MemoryShared
	ids     *lsm.StateIDs
	done    *checkpoint.Completed
	keys    []int64
	first   int64 // bytes of the first checkpoint
	full    int64 // of a later one,
	later   int64 // and what of it was stored anew
}

// subtask is one that keeps the experiment's state.
type subtask struct {
	state.Backend
	memory  *lsm.Memory // nil on the heap
	count   *state.ValueState[int64]
	payload *state.ValueState[string]
}

func (s *subtask) close() {
	_ = s.Backend.Close()
	if s.memory != nil {
		s.memory.Close()
	}
}

// open makes a subtask, with what it restores.
func (e *experiment) open(parallelism, index int, o *checkpoint.OperatorState) (s *subtask, err error) {
	groups, err := keygroup.RangeFor(experimentGroups, parallelism, index)
	if err != nil {
		return nil, err
	}
	s = &subtask{}
	if e.backend == lsm.Name {
		const budget = 16 << 20
		if s.memory, err = lsm.NewMemory(budget, 1); err != nil {
			return nil, err
		}
		var from lsm.Source
		if o != nil {
			from = lsm.Source{States: o.Incremental, Files: e.shared}
		}
		b, err := lsm.Restore(lsm.Options{Dir: "state", FS: vfs.NewMem(), Key: serde.Long, MaxParallelism: experimentGroups, KeyGroups: groups,
			Memory: s.memory, StateIDs: e.ids}, from)
		if err != nil {
			s.memory.Close()
			return nil, err
		}
		s.Backend = b
	} else {
		b, err := heap.New(heap.Options{Key: serde.Long, MaxParallelism: experimentGroups, KeyGroups: groups})
		if err != nil {
			return nil, err
		}
		if s.Backend = b; o != nil {
			if err := b.Restore(o.Keyed); err != nil {
				return nil, err
			}
		}
	}
	s.count, err = keyed.Value(s.Backend, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err == nil {
		s.payload, err = keyed.Value(s.Backend, state.ValueDescriptor[string]{Name: "payload", Codec: state.String()})
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// add counts each key of the subtask once, and gives a new one its payload.
func (s *subtask) add(parallelism, index int) error {
	for n := range int64(experimentKeys) {
		k := serde.Key{Num: n}
		hash := serde.HashKey(serde.Long, k)
		if keygroup.OperatorIndex(experimentGroups, parallelism, keygroup.Assign(hash, experimentGroups)) != index {
			continue
		}
		if err := s.Context().Set(k, hash); err != nil {
			return err
		}
		v, had, err := s.count.Get()
		if err == nil && !had {
			err = s.payload.Update(strings.Repeat("x", experimentPayload))
		}
		if err == nil {
			err = s.count.Update(v + 1)
		}
		if err != nil {
			return err
		}
		s.Context().Clear()
	}
	return nil
}

// snapshot is what a checkpoint stores of the subtask, and how many of its bytes it stored anew.
func (e *experiment) snapshot(s *subtask, id int64) (o *checkpoint.OperatorState, anew int64, err error) {
	if b, ok := s.Backend.(*lsm.Backend); ok {
		files, err := b.SnapshotFiles(id)
		if err != nil {
			return nil, 0, err
		}
		defer files.Release()
		u, err := files.Upload(context.Background(), e.shared, 0)
		if err != nil {
			return nil, 0, err
		}
		b.CheckpointCompleted(id)
		return &checkpoint.OperatorState{Incremental: []checkpoint.IncrementalState{u.State}}, u.UploadedBytes, nil
	}
	groups, err := state.GroupBytes(s.Backend, id)
	o = &checkpoint.OperatorState{Keyed: groups}
	return o, o.Bytes(), err
}

// fill runs the experiment up to its last checkpoint.
func (e *experiment) fill() error {
	const parallelism, checkpoints = 2, 3
	subtasks := make([]*subtask, parallelism)
	for i := range subtasks {
		s, err := e.open(parallelism, i, nil)
		if err != nil {
			return err
		}
		defer s.close()
		subtasks[i] = s
	}
	storage := checkpoint.NewMemoryStorage()
	for id := int64(1); id <= checkpoints; id++ {
		states := make([]*checkpoint.TaskState, parallelism)
		for i, s := range subtasks {
			if err := s.add(parallelism, i); err != nil {
				return err
			}
			o, anew, err := e.snapshot(s, id)
			if err != nil {
				return err
			}
			states[i] = &checkpoint.TaskState{Operators: map[string]*checkpoint.OperatorState{restoredOperator: o}}
			if id == 1 {
				e.first += anew
			} else {
				e.full, e.later = e.full+o.Bytes(), e.later+anew
			}
		}
		var err error
		if e.done, err = store(storage, id, experimentGroups, states); err != nil {
			return err
		}
	}
	for _, s := range subtasks {
		e.keys = append(e.keys, s.Stats().Keys)
	}
	return nil
}

func (e *experiment) checkFilled(want *stateExperiment) error {
	if err := e.fill(); err != nil {
		return err
	}
	if !slices.Equal(e.keys, want.KeysPerSubtask) {
		return differs("the number of keys of each subtask", e.keys, want.KeysPerSubtask)
	}
	return nil
}

// checkSizes holds the size of a heap's checkpoint to Flink's, within a tenth; of files it holds that Flink's store, and
// this one, write only a part of the state after the first checkpoint. Their sizes go by how blocks are compressed.
func (e *experiment) checkSizes(want *stateExperiment) error {
	if e.backend != lsm.Name {
		if n := want.HashMap.StateBytes; e.first < n*9/10 || e.first > n*11/10 {
			return differs("the size of a checkpoint", e.first, fmt.Sprintf("%d and at most a tenth more or less", n))
		}
		return nil
	}
	var full, later int64
	for i := 1; i < min(len(want.RocksDB.StateBytes), len(want.RocksDB.CheckpointedBytes)); i++ {
		full, later = full+want.RocksDB.StateBytes[i], later+want.RocksDB.CheckpointedBytes[i]
	}
	if (e.later < e.full) != (later < full) {
		return differs("stored after the first checkpoint", fmt.Sprintf("%d bytes of %d", e.later, e.full), fmt.Sprintf("a part as Flink, %d of %d", later, full))
	}
	return nil
}

func (e *experiment) checkScaleOut(want *stateExperiment) error {
	return e.checkRescale(&want.ScaleOut)
}
func (e *experiment) checkScaleIn(want *stateExperiment) error { return e.checkRescale(&want.ScaleIn) }

func (e *experiment) checkRescale(want *rescaleExperiment) error {
	if e.done == nil {
		return errors.New("there is no checkpoint to restore")
	}
	parallelism := len(want.KeysPerSubtask)
	a, err := checkpoint.Assign(e.done, restoredVertex, parallelism, experimentGroups)
	if err != nil {
		return err
	}
	var got rescaleExperiment
	for i, t := range a.Subtasks {
		s, err := e.open(parallelism, i, t.Operators[restoredOperator])
		if err != nil {
			return fmt.Errorf("subtask %d of %d: %w", i, parallelism, err)
		}
		st := s.Stats()
		s.close()
		got.KeysPerSubtask, got.RestoredKeys = append(got.KeysPerSubtask, st.Keys), append(got.RestoredKeys, st.RestoredKeys)
		got.KeysOutOfRange = append(got.KeysOutOfRange, st.KeysOutOfRange)
	}
	switch {
	case !slices.Equal(got.KeysPerSubtask, want.KeysPerSubtask):
		return differs("the number of keys of each subtask", got.KeysPerSubtask, want.KeysPerSubtask)
	case !slices.Equal(got.RestoredKeys, want.RestoredKeys):
		return differs("the number of restored keys", got.RestoredKeys, want.RestoredKeys)
	case want.KeysOutOfRange == nil:
		want.KeysOutOfRange = make([]int64, parallelism) // the file leaves them out where there are none
	}
	if !slices.Equal(got.KeysOutOfRange, want.KeysOutOfRange) {
		return differs("the number of keys out of range", got.KeysOutOfRange, want.KeysOutOfRange)
	}
	return nil
}

var fromTo = regexp.MustCompile(`^(\d+) to (\d+) is refused`)

// checkMismatch: what Flink refuses is refused, by an error that names both numbers; what is not another number is not.
func checkMismatch(want *stateExperiment) error {
	m := fromTo.FindStringSubmatch(want.Mismatch)
	if m == nil {
		return fmt.Errorf("maxParallelismMismatch is %q, expected %q", want.Mismatch, "N to M is refused")
	}
	from, _ := strconv.Atoi(m[1])
	to, err := strconv.Atoi(m[2])
	if err != nil {
		return err
	}
	stored := checkpoint.VertexState{ID: restoredVertex, Parallelism: 1, MaxParallelism: from}
	if err := stored.CheckParallelism("of the checkpoint", 1, from); err != nil {
		return err
	}
	err = stored.CheckParallelism("of the checkpoint", 1, to)
	if err == nil {
		return fmt.Errorf("max parallelism %d is taken for %d, expected that it is refused", to, from)
	}
	if text := err.Error(); !strings.Contains(text, m[1]) || !strings.Contains(text, m[2]) {
		return fmt.Errorf("the error %q does not name both numbers", text)
	}
	return nil
}
