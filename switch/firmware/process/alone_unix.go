//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// alone has the program not hear of a Ctrl-C that is meant for us: it goes on until we have
// drained. Whoever ends it ends what it has started, too.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
