package pgtest

import "syscall"

// diesWithParent has a child that runs as a user end with the test, however that ends.
func diesWithParent(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
}
