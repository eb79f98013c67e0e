package kit

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheFirstAnswerCounts(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if _, err := ReadCommitted(dir); err == nil {
		t.Error("an answer before there is one")
	}
	first := map[string]any{"size": 12.0, "mode": "aligned"}
	c, err := Commit(dir, "x", first, at)
	if err != nil || c.At != at {
		t.Fatal(c, err)
	}
	if c, err = Commit(dir, "x", map[string]any{"size": 12.0, "mode": "aligned"}, at.Add(time.Hour)); err != nil || c.At != at {
		t.Errorf("the same once more: %+v %v", c, err)
	}
	c, err = Commit(dir, "x", map[string]any{"size": 13.0, "mode": "aligned"}, at.Add(time.Hour))
	var second *CommittedError
	if !errors.As(err, &second) || c.Answer["size"] != 12.0 || !strings.Contains(second.Text().En, `"size":12`) || !strings.Contains(second.Text().Zh, "2026-03-04 05:06") {
		t.Errorf("another: %+v %v", c, err)
	}
}

func TestOfTwoAnswersAtOnceOneCounts(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	refused := make([]bool, 8)
	for i := range refused {
		wg.Go(func() {
			_, err := Commit(dir, "x", map[string]any{"n": float64(i)}, time.Now())
			var second *CommittedError
			refused[i] = errors.As(err, &second)
			if err != nil && !refused[i] {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, r := range refused {
		if !r {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d answers were taken", n)
	}
}
