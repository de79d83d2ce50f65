//go:build unix

package attack

import (
	"os/exec"
	"syscall"
)

// runAs has a command run as the user and group of a number.
func runAs(cmd *exec.Cmd, user uint32) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
}
