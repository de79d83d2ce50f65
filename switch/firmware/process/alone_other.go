//go:build !unix

package process

import "os/exec"

func alone(*exec.Cmd) {}

func endAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
