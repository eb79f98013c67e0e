//go:build !race && !invariants

package job_test

// slowed says that neither the race detector nor the invariants are on.
const slowed = false
