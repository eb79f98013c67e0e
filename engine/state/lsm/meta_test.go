package lsm

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/state"
)

func sampleMeta() *storedMeta {
	return &storedMeta{
		states: []storedState{
			{id: 7, meta: state.Meta{Name: "count", Codec: "long", FixedValue: 8}, groups: map[int]groupCount{3: {1, 2, 300}, 127: {4, 5, 6}}},
			{id: 0x1234, meta: state.Meta{Name: "m", Kind: state.KindMap, Namespace: state.WindowNamespace, Codec: "string", KeyCodec: "long", FixedKey: 8,
				TTL: state.TTL{After: 5 * time.Second, OnRead: true}}, groups: map[int]groupCount{}},
		},
		timers: []checkpoint.KeyGroupState{{KeyGroup: 300, Data: []byte("t")}},
	}
}

func TestMetaRoundTrip(t *testing.T) {
	m := sampleMeta()
	got, err := parseMeta(m.encode())
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzMeta: whatever the bytes, they are read or refused, and what is read is written again the same.
func FuzzMeta(f *testing.F) {
	f.Add(sampleMeta().encode())
	f.Add((&storedMeta{}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMeta(b)
		if err != nil {
			return
		}
		again, err := parseMeta(m.encode())
		if err != nil || !bytes.Equal(again.encode(), m.encode()) {
			t.Fatalf("%v", err)
		}
	})
}

// A file goes by its origin and name, and only what a checkpoint known to be complete has is left out. Field report 16:
// after a restore a name comes again with other bytes.
func TestUploadsPlan(t *testing.T) {
	file := func(name, origin string, first int64) checkpoint.StateFile {
		return checkpoint.StateFile{Name: name, Origin: origin, Shared: true, First: first, SharedHandle: checkpoint.SharedHandle{File: origin + name, Bytes: 10}}
	}
	plan := func(u *uploads, names ...string) (out string) {
		var files []plannedFile
		for _, n := range names {
			files = append(files, plannedFile{name: n, bytes: 10, shared: n[0] != 'M'})
		}
		u.plan(files)
		for _, f := range files {
			out += f.name + "@" + f.origin
			if f.reuse != nil {
				out += " from " + f.reuse.File
			}
			out += "; "
		}
		return out
	}
	check := func(what, have, want string) {
		t.Helper()
		if have != want {
			t.Errorf("%s: %s\nexpected %s", what, have, want)
		}
	}
	u := newUploads("b1", nil, false)
	check("at first", plan(u, "1.sst", "M"), "1.sst@b1; M@b1; ")
	u.stored(1, []checkpoint.StateFile{file("1.sst", "b1", 1), {Name: "M", Origin: "b1"}})
	check("stored, not complete", plan(u, "1.sst"), "1.sst@b1; ")
	u.complete(1)
	check("complete", plan(u, "1.sst", "2.sst"), "1.sst@b1 from b11.sst; 2.sst@b1; ")
	u.stored(2, []checkpoint.StateFile{file("1.sst", "b1", 1), file("2.sst", "b1", 2)})
	u.aborted(2)
	u.complete(2)
	check("aborted", plan(u, "2.sst"), "2.sst@b1; ")
	u.stored(3, []checkpoint.StateFile{file("2.sst", "b1", 3)})
	u.stored(4, []checkpoint.StateFile{file("2.sst", "b1", 4), file("3.sst", "b1", 4)})
	u.complete(4)
	u.complete(3) // late
	check("late", plan(u, "1.sst", "2.sst", "3.sst"), "1.sst@b1; 2.sst@b1 from b12.sst; 3.sst@b1 from b13.sst; ")

	restored := map[string]checkpoint.StateFile{"1.sst": file("1.sst", "b1", 1)}
	r := newUploads("b2", restored, true)
	check("restored", plan(r, "1.sst", "2.sst"), "1.sst@b1 from b11.sst; 2.sst@b2; ")
	n := newUploads("b3", restored, false)
	check("restored, not claimed", plan(n, "1.sst", "2.sst"), "1.sst@b1; 2.sst@b3; ")
}
