package heap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"weir/engine/state"
)

// object is a value with an identity: a copy has another number.
type object struct {
	id    int
	value string
}

// Scripts drive one CopyOnWriteMap of objects, by key and namespace. The commands:
//
//	put KEY/NS VALUE        VALUE nil is a nil object
//	get KEY/NS
//	change KEY/NS VALUE     gets the object and changes it in place
//	remove KEY/NS
//	transform KEY/NS SUFFIX adds to the value
//	snapshot NAME, read NAME, release NAME
//	fill from=N to=N drop=M    puts keys of namespace 0, and removes each Mth; with stop, until the words begin to move
//	check from=N to=N drop=M   looks all of them up
//	readings
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		objects := 0
		m := NewCopyOnWriteMap[numberInWindow](func(o *object) *object {
			if o == nil {
				return nil
			}
			objects++
			return &object{objects, o.value}
		})
		snapshots := map[string]*MapSnapshot[numberInWindow, *object]{}
		show := func(o *object, had bool) string {
			switch {
			case !had:
				return "none"
			case o == nil:
				return "nil"
			}
			return fmt.Sprintf("%s (object %d)", o.value, o.id)
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			at := func(text string) (int32, numberInWindow) {
				var k, ns int64
				if _, err := fmt.Sscanf(text, "%d/%d", &k, &ns); err != nil {
					d.Fatalf(t, "key %q: %v", text, err)
				}
				return numberInWindow{}.of2(k, ns)
			}
			arg := func(i int) string { return d.CmdArgs[i].String() }
			sweep := func() (from, to, drop int) {
				d.ScanArgs(t, "from", &from)
				d.ScanArgs(t, "to", &to)
				d.ScanArgs(t, "drop", &drop)
				return from, to, drop
			}
			switch d.Cmd {
			case "put":
				h, k := at(arg(0))
				var v *object
				if arg(1) != "nil" {
					objects++
					v = &object{objects, arg(1)}
				}
				old, had := m.Put(h, k, v)
				fmt.Fprintf(&out, "old: %s, size %d\n", show(old, had), m.Size())
			case "get":
				h, k := at(arg(0))
				v, had := m.Get(h, k)
				fmt.Fprintln(&out, show(v, had))
			case "change":
				h, k := at(arg(0))
				v, had := m.Get(h, k)
				v.value = arg(1)
				fmt.Fprintln(&out, show(v, had))
			case "remove":
				h, k := at(arg(0))
				old, had := m.Remove(h, k)
				fmt.Fprintf(&out, "old: %s, size %d\n", show(old, had), m.Size())
			case "transform":
				h, k := at(arg(0))
				m.Transform(h, k, func(v *object, had bool) *object {
					objects++
					n := &object{objects, arg(1)}
					if had {
						n.value = v.value + arg(1)
					}
					fmt.Fprintf(&out, "%s becomes %s\n", show(v, had), show(n, true))
					return n
				})
			case "snapshot":
				snapshots[arg(0)] = m.Snapshot()
			case "release":
				m.Release(snapshots[arg(0)])
			case "read":
				var lines []string
				plus := 0
				drop := ""
				for _, a := range d.CmdArgs[1:] {
					switch a.Key {
					case "drop":
						drop = a.Vals[0]
					case "plus":
						fmt.Sscan(a.Vals[0], &plus)
					}
				}
				snapshots[arg(0)].Each(func(k numberInWindow, v *object) bool {
					if v.value == drop {
						return true
					}
					text := show(v, true)
					if plus > 0 {
						var n int
						fmt.Sscan(v.value, &n)
						text = fmt.Sprint(n + plus)
					}
					lines = append(lines, fmt.Sprintf("%d/%d %s\n", k.k, k.ns.Start, text))
					return true
				})
				slices.Sort(lines)
				out.WriteString(strings.Join(lines, ""))
			case "fill":
				from, to, drop := sweep()
				rehashed, last := 0, from
				for i := from; i < to && (!d.HasArg("stop") || rehashed == 0); i++ {
					last = i
					h, k := numberInWindow{}.of2(int64(i), 0)
					objects++
					m.Put(h, k, &object{objects, fmt.Sprint(i)})
					if m.Rehashing() {
						rehashed++
					}
					if i%drop == 0 {
						m.Remove(h, k)
					}
				}
				fmt.Fprintf(&out, "up to %d, size %d, %d puts met a rehash\n", last, m.Size(), rehashed)
			case "check":
				from, to, drop := sweep()
				there, gone := 0, 0
				for i := from; i < to; i++ {
					h, k := numberInWindow{}.of2(int64(i), 0)
					v, had := m.Get(h, k)
					switch {
					case had != (i%drop != 0) || had && v.value != fmt.Sprint(i):
						fmt.Fprintf(&out, "%d: %s\n", i, show(v, had))
					case had:
						there++
					default:
						gone++
					}
				}
				all := 0
				m.Each(func(numberInWindow, *object) bool { all++; return true })
				fmt.Fprintf(&out, "%d there, %d gone, %d in all, size %d\n", there, gone, all, m.Size())
			case "readings":
				r := m.Readings()
				fmt.Fprintf(&out, "entries=%d words=%d rehashing=%v\n", r.Entries, r.Words, r.Rehashing)
				fmt.Fprintf(&out, "version=%d required=%d open=%v\n", r.Version, r.Required, r.Open)
				fmt.Fprintf(&out, "copies of entries=%d of values=%d\n", r.EntryCopies, r.ValueCopies)
				fmt.Fprintf(&out, "slots=%d retired=%d free=%d\n", r.Slots, r.Retired, r.Slots-r.Retired-r.Entries)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out.String()
		})
	})
}

// of2 is the map's key, with its hash, of a number and the start of a window.
func (numberInWindow) of2(k, ns int64) (int32, numberInWindow) {
	w := state.Window{Start: ns}
	return mix(int32(k), w), numberInWindow{k, w}
}
