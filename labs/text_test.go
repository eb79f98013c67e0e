package labs

import (
	"fmt"
	"testing"
)

func TestFigure(t *testing.T) {
	for n, want := range map[figure]string{0: "0", 999: "999", 1000: "1,000", -1: "-1", -999: "-999", -12345: "-12,345", 1107590: "1,107,590"} {
		if got := fmt.Sprintf("%d", n); got != want {
			t.Errorf("%d is written %q, want %q", int64(n), got, want)
		}
	}
	if got := fmt.Sprintf("%5d|%v", figure(12), figure(3456)); got != "   12|3456" {
		t.Errorf("other verbs give %q", got)
	}
	if got := say("evidence.pools", 1234, int64(56)).In("en"); got != "Output pools 1,234 % used, input pools 56 %." {
		t.Errorf("the sentence is %q", got)
	}
}
