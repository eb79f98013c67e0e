//go:build race || invariants

package job_test

// slowed says that the race detector or the invariants are on, with which everything is many times slower: random tests try
// fewer seeds.
const slowed = true
