package history

import (
	"fmt"
	"sync"

	"weir/exercises/kit"
)

// Native is a core that runs in this process instead of a sandbox, for the tests of our own solutions. dispatch makes the
// function that an exercise's api.Dispatch gives.
func Native(dispatch func() func(method uint32, args []byte) []byte) kit.Core {
	return &native{make: dispatch, call: dispatch()}
}

type native struct {
	make func() func(uint32, []byte) []byte

	mu   sync.Mutex
	call func(uint32, []byte) []byte
	err  error
}

// Call implements kit.Core.
func (n *native) Call(method uint32, args []byte) (answer []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			n.err, answer = fmt.Errorf("it panicked: %v", p), nil
		}
	}()
	return n.call(method, args)
}

// Err implements kit.Core.
func (n *native) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// Reset implements kit.Core.
func (n *native) Reset() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.call, n.err = n.make(), nil
	return nil
}
