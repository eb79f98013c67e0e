package store

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"weir/class/store/pgtest"
)

// shared is one PostgreSQL for the tests that do not stop it, started by the first of them.
var (
	shared    *pgtest.Server
	sharedErr error
	startOnce sync.Once
)

func postgres(t *testing.T) *pgtest.Server {
	t.Helper()
	startOnce.Do(func() { shared, sharedErr = pgtest.New() })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
