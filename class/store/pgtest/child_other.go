//go:build unix && !linux

package pgtest

import "syscall"

// diesWithParent has a child run as a user; only Linux can end it with the test.
func diesWithParent(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true}
}
