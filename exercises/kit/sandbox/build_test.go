package sandbox

import (
	"strings"
	"testing"
)

// What go build says on a full disk must not be held against the learner.
func TestWhoIsAtFault(t *testing.T) {
	for _, c := range []struct {
		said    string
		machine bool
		says    string
	}{
		{"# core\n./core.go:7:2: undefined: x\n", false, "core.go:7:2: undefined: x"},
		{"core.go:4:2: package nosuch is not in std (/usr/local/go/src/nosuch)\n", false, "package nosuch is not in std"},
		{"main/main.go:10:7: undefined: core.New\n", false, "undefined: core.New"},
		{"wire/wire.go:5:8: package encoding/binary is not in std (/usr/local/go/src/encoding/binary)\n", true, "disk"},
		{"core.go:3:8: package fmt is not in std (/usr/local/go/src/fmt)\nwire/wire.go:5:8: package encoding/binary is not in std\n", true, "encoding/binary"},
	} {
		if e := refusedBy(c.said); e.NoGo != c.machine || !strings.Contains(e.Text.En, c.says) || strings.Contains(e.Text.En, "does not compile") == c.machine {
			t.Errorf("%q: the machine's fault %t, %q", c.said, e.NoGo, e.Text.En)
		}
	}
}
