package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestSharedRegistryScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/registry", func(t *testing.T, path string) {
		var r *SharedRegistry
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			var id, bytes int64 = 0, 1
			d.MaybeScanArgs(t, "id", &id)
			d.MaybeScanArgs(t, "bytes", &bytes)
			var files []string
			for _, a := range d.CmdArgs {
				if strings.HasPrefix(a.Key, "(") {
					files = strings.Split(strings.Trim(a.Key, "()"), ",")
				}
			}
			discard := func(list []SharedHandle) {
				for _, h := range list {
					fmt.Fprintf(&out, "discard %s\n", h.File)
				}
			}
			show := true
			switch d.Cmd {
			case "new":
				r, show = NewSharedRegistry(), false
			case "register":
				for _, f := range files {
					h := &SharedHandle{File: f, Bytes: bytes}
					if d.HasArg("placeholder") {
						h = nil
					}
					if _, err := r.Register(f, h, id); err != nil {
						fmt.Fprintf(&out, "error: %v\n", err)
					}
				}
			case "restored":
				r.Restored(id, d.HasArg("claimed"), d.HasArg("native"))
				show = false
			case "hold":
				var f string
				d.ScanArgs(t, "file", &f)
				r.HoldCreator(f)
				show = false
			case "unused":
				var below int64
				d.ScanArgs(t, "below", &below)
				list, inUse := r.Unused(below)
				discard(list)
				for _, id := range inUse {
					fmt.Fprintf(&out, "in use: %d\n", id)
				}
			case "aborted":
				discard(r.Aborted(id))
			case "orphans":
				for _, f := range r.Orphans(files) {
					fmt.Fprintln(&out, f)
				}
				show = false
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			if show {
				for _, ref := range r.References() {
					fmt.Fprintf(&out, "%s: brought by %d, last used by %d\n", ref.File, ref.CreatedBy, ref.LastUsed)
				}
			}
			return out.String()
		})
	})
}

// Of a subtask's state that has one wrong file none is noted.
func TestSharedRegistryTakesAStateWhole(t *testing.T) {
	r := NewSharedRegistry()
	st := func(files ...SharedHandle) *TaskState {
		var list []StateFile
		for i, h := range files {
			list = append(list, StateFile{Name: fmt.Sprint(i), SharedHandle: h})
		}
		return &TaskState{Operators: map[string]*OperatorState{"op": {Incremental: []IncrementalState{incrementalOf(0, 1, list...)}}}}
	}
	if err := r.RegisterState(st(SharedHandle{File: "b", Bytes: 1}, Inlined([]byte("x"))), 1); err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterState(st(SharedHandle{File: "a", Bytes: 1}, SharedHandle{File: "b", Bytes: 2}), 2); err == nil {
		t.Error("another file under the name was accepted")
	}
	if refs := r.References(); len(refs) != 1 || refs[0].LastUsed != 1 {
		t.Errorf("%+v", refs)
	}
}
