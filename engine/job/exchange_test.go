package job

import (
	"fmt"
	"testing"
)

// TestPointwise checks the pattern against Flink's: every subpartition of every producer has one consumer, and a consumer
// or a producer has as many as the others, or one more.
func TestPointwise(t *testing.T) {
	for _, c := range []struct {
		p, q int
		want string
	}{
		{2, 2, "[{0 0}] [{1 0}]"},
		{4, 2, "[{0 0} {1 0}] [{2 0} {3 0}]"},
		{2, 4, "[{0 0}] [{0 1}] [{1 0}] [{1 1}]"},
		{3, 2, "[{0 0}] [{1 0} {2 0}]"},
		{2, 3, "[{0 0}] [{0 1}] [{1 0}]"},
		{5, 3, "[{0 0}] [{1 0} {2 0}] [{3 0} {4 0}]"},
		{3, 5, "[{0 0}] [{0 1}] [{1 0}] [{1 1}] [{2 0}]"},
		{4, 6, "[{0 0}] [{0 1}] [{1 0}] [{2 1}] [{2 0}] [{3 0}]"},
		{1, 3, "[{0 0}] [{0 1}] [{0 2}]"},
		{3, 1, "[{0 0} {1 0} {2 0}]"},
	} {
		got := ""
		for i := range c.q {
			got += fmt.Sprint(Rescale.inputs(i, c.p, c.q)) + " "
		}
		if got[:len(got)-1] != c.want {
			t.Errorf("%d -> %d: %s, want %s", c.p, c.q, got, c.want)
		}
	}
	for _, e := range []Exchange{Hash, Rebalance, Broadcast, Rescale} {
		for p := 1; p <= 9; p++ {
			for q := 1; q <= 9; q++ {
				readers := map[endpoint]int{}
				for i := range q {
					for _, in := range e.inputs(i, p, q) {
						readers[in]++
					}
				}
				ends := 0
				for i := range p {
					for sub := range e.subpartitions(i, p, q) {
						if ends++; readers[endpoint{i, sub}] != 1 {
							t.Errorf("%s %d -> %d: subpartition %d of producer %d has %d readers", e, p, q, sub, i, readers[endpoint{i, sub}])
						}
					}
				}
				if len(readers) != ends {
					t.Errorf("%s %d -> %d: %d subpartitions are read, there are %d", e, p, q, len(readers), ends)
				}
			}
		}
	}
}

func TestParseExchange(t *testing.T) {
	for e := range Broadcast + 1 {
		if got, err := ParseExchange(e.String()); err != nil || got != e {
			t.Errorf("%s: %v, %v", e, got, err)
		}
	}
	if _, err := ParseExchange("shuffle"); err == nil {
		t.Error("shuffle is none")
	} else {
		t.Log(err)
	}
}
