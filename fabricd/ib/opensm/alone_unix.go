//go:build unix

package opensm

import (
	"os/exec"
	"syscall"
)

// alone has OpenSM not hear of a Ctrl-C at our terminal: it is for us, who end OpenSM in order.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
