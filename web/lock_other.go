//go:build !unix

package web

// lockFolder does nothing where a file cannot be locked for a process.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }
