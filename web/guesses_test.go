package web

import (
	"testing"
	"testing/synctest"
	"time"
)

// Somebody floods the server with guesses from the address of a class: guesses are looked at one after the other, and
// those of the class who come in between wait as long as any other, which is never longer than mostGuessWait.
func TestGuessesOfAnAddressWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuesses()
		for i := range wrongBurst {
			if !g.tell("192.0.2.9", time.Now()) || g.wait("192.0.2.9", time.Now()) != 0 {
				t.Fatalf("wrong code %d counts as a guess: a class mistypes as often", i+1)
			}
		}
		if g.tell("192.0.2.9", time.Now()) {
			t.Errorf("%d wrong codes at once are taken for typing errors", wrongBurst+1)
		}
		last := time.Duration(0)
		for i := range 1000 {
			wait := g.wait("192.0.2.9", time.Now())
			if want := min(time.Duration(i)*guessPause, mostGuessWait); wait != want {
				t.Fatalf("try %d waits %v, want %v", i+1, wait, want)
			}
			last = wait
		}
		if last != mostGuessWait {
			t.Errorf("after a flood a try waits %v", last)
		}
		if wait := g.wait("192.0.2.10", time.Now()); wait != 0 {
			t.Errorf("another address waits %v", wait)
		}
		time.Sleep(mostGuessWait - guessPause)
		if wait := g.wait("192.0.2.9", time.Now()); wait != guessPause {
			t.Errorf("when the flood is nearly over a try waits %v", wait)
		}
		time.Sleep(2 * time.Minute)
		if wait := g.wait("192.0.2.9", time.Now()); wait != 0 {
			t.Errorf("two minutes later a try waits %v", wait)
		}
	})
}
