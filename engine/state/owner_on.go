//go:build invariants

package state

import "runtime"

// owner is the goroutine that set the current key, as the first line of its stack names it.
type owner struct {
	name [32]byte
}

func current() (name [32]byte) {
	runtime.Stack(name[:], false) // "goroutine 123 [running..."
	for i, c := range name {
		if c == '[' {
			clear(name[i:])
			break
		}
	}
	return name
}

func (o *owner) take() { o.name = current() }

func (o *owner) check() error {
	if o.name != current() {
		return ErrOtherGoroutine
	}
	return nil
}

// OwnerChecked says that Check compares goroutines, so that no access may skip it.
const OwnerChecked = true
