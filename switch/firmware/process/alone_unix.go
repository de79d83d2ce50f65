//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// alone has the program not hear of a Ctrl-C that is meant for us: it goes on until we have drained.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endAll ends the program, and what it has started.
func endAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
