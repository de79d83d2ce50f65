//go:build !unix

package attack

import "os/exec"

// runAs does nothing: users have no numbers here, and no test that asks for another one runs.
func runAs(*exec.Cmd, uint32) {}
