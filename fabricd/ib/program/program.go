// Package program starts unmodified programs of InfiniBand, as OpenSM, on a fabric that package sim
// serves to them.
package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// endTime is how long a program may take to end. Chosen by us.
const endTime = 5 * time.Second

// packages are what the programs are in.
const packages = "install Debian's packages libumad2sim0, opensm and infiniband-diags"

// Command is a program at a node of the fabric with that name of sockets, the first NIC where the
// node is "". When ctx ends it is interrupted, which ends OpenSM in order, and killed when it does
// not end: OpenSM does not while it waits for a fabric that is gone. It errs where nobody serves
// the fabric, for which the library would wait for ever, and where that or the program is not
// installed. [Start] starts it; after it has ended, call [Clean].
func Command(ctx context.Context, fabric, node, name string, args ...string) (*exec.Cmd, error) {
	library, err := library()
	if err != nil {
		return nil, err
	}
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	if !served(fabric) {
		return nil, fmt.Errorf("no fabric lets programs in by the name %q: start it with fabricd up --ib, and "+
			"give its name by --fabric", fabric)
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = endTime
	c.Env = append(os.Environ(), "LD_PRELOAD="+library, "IBSIM_SOCKNAME="+fabric)
	if node != "" {
		c.Env = append(c.Env, "SIM_HOST="+node)
	}
	return c, nil
}

// Start starts a program. wait waits until it has ended, and is called once. On Linux the program
// is killed when this process ends before it, even by a signal that nobody can catch: it is of no
// use without us, and nobody would know of it.
func Start(c *exec.Cmd) (wait func() error, err error) {
	dieWithUs(c)
	begun, ended := make(chan error, 1), make(chan error, 1)
	go func() { // it ends with the program, which wait waits for
		runtime.LockOSThread() // Linux kills the program when the thread that started it ends
		defer runtime.UnlockOSThread()
		err := c.Start()
		begun <- err
		if err == nil {
			ended <- c.Wait()
		}
	}()
	if err := <-begun; err != nil {
		return nil, err
	}
	return func() error { return <-ended }, nil
}

// Clean takes away the folder of devices that the library makes where a program begins, and leaves
// there when that is killed.
func Clean(c *exec.Cmd) {
	if c.Process != nil {
		_ = os.RemoveAll(filepath.Join(c.Dir, fmt.Sprintf("sys-%d", c.Process.Pid))) // there may be none
	}
}

// served reports whether a fabric has the socket at which programs come in; package sim, of Linux alone,
// names and opens it.
func served(fabric string) bool {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: "@" + fabric + ":ctl\x00"})
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// library is the file of libumad2sim.so.
func library() (string, error) {
	if list, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so"); len(list) > 0 {
		return list[0], nil
	}
	return "", errors.New("libumad2sim.so is not installed: " + packages)
}

// find is the file of a program; those of administrators are often not in the path of users.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		if path, err = exec.LookPath(filepath.Join("/usr/sbin", program)); err != nil {
			return "", fmt.Errorf("%s is not installed: %s, or give its path", program, packages)
		}
	}
	return path, err
}
