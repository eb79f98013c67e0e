package operator

import (
	"cmp"
	"slices"

	"weir/engine/metric"
	"weir/engine/state"
)

// openWindows counts keys and records of the windows that are in the state, by their start and end. There are few of them at
// a time: as many as event times lie apart.
type openWindows struct {
	list []metric.OpenWindow
	last int // where the window of the last record is
}

// of finds a window, or adds it. What it answers is valid until the next call.
func (o *openWindows) of(w state.Window) *metric.OpenWindow {
	if o.last < len(o.list) {
		if l := &o.list[o.last]; l.Start == w.Start && l.End == w.End {
			return l
		}
	}
	i, found := o.find(w)
	if !found {
		o.list = slices.Insert(o.list, i, metric.OpenWindow{Start: w.Start, End: w.End})
	}
	o.last = i
	return &o.list[i]
}

func (o *openWindows) find(w state.Window) (int, bool) {
	return slices.BinarySearchFunc(o.list, w, func(a metric.OpenWindow, w state.Window) int {
		return cmp.Or(cmp.Compare(a.Start, w.Start), cmp.Compare(a.End, w.End))
	})
}

// remove takes a key with its records out of a window, and the window out of the list with its last key.
func (o *openWindows) remove(w state.Window, records int64) {
	i, found := o.find(w)
	if !found {
		return
	}
	l := &o.list[i]
	l.Keys--
	l.Records -= records
	if l.Keys == 0 {
		o.list = slices.Delete(o.list, i, i+1)
	}
}

// records are those in all windows.
func (o *openWindows) records() int64 {
	var n int64
	for i := range o.list {
		n += o.list[i].Records
	}
	return n
}
