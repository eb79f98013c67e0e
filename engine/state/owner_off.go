//go:build !invariants

package state

// owner is the goroutine that set the current key, known with build tag invariants only.
type owner struct{}

func (*owner) take()        {}
func (*owner) check() error { return nil }

// OwnerChecked says that Check compares goroutines, so that no access may skip it.
const OwnerChecked = false
