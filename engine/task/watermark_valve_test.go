package task

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"weir/engine/serde"
)

// TestWatermarkValve runs the scripts. The commands:
//
//	valve N           a new valve of N channels
//	watermark CHANNEL MS
//	idle CHANNEL, active CHANNEL
//	channels          what each has: watermark, idle, and whether it takes part
func TestWatermarkValve(t *testing.T) {
	datadriven.Walk(t, "testdata/valve", func(t *testing.T, path string) {
		var v *WatermarkValve
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			number := func(i int) (n int64) {
				switch s := d.CmdArgs[i].Key; s {
				case "max":
					return MaxWatermark
				default:
					if _, err := fmt.Sscan(s, &n); err != nil {
						d.Fatalf(t, "%q: %v", s, err)
					}
					return n
				}
			}
			switch d.Cmd {
			case "valve":
				v = NewWatermarkValve(int(number(0)))
				return ""
			case "watermark":
				return told(v.Watermark(int(number(0)), number(1)))
			case "idle":
				return told(v.Status(int(number(0)), serde.Idle))
			case "active":
				return told(v.Status(int(number(0)), serde.Active))
			case "channels":
				var b strings.Builder
				for i := range v.Channels() {
					ms, idle, part := v.Channel(i)
					fmt.Fprintf(&b, "%d: %s", i, shown(ms))
					if idle {
						b.WriteString(" idle")
					} else if !part {
						b.WriteString(" catching up")
					}
					b.WriteByte('\n')
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func shown(ms int64) string {
	switch ms {
	case NoWatermark:
		return "none"
	case MaxWatermark:
		return "max"
	}
	return fmt.Sprint(ms)
}

func told(o ValveOutput) string {
	var parts []string
	if o.Advanced {
		parts = append(parts, "watermark "+shown(o.Watermark))
	}
	if o.StatusChanged {
		parts = append(parts, o.Status.String())
	}
	if len(parts) == 0 {
		return "nothing\n"
	}
	return strings.Join(parts, ", ") + "\n"
}
