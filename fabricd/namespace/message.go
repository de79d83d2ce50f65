//go:build linux

package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Bounds of a message, chosen by us. What may be longer travels as a file in memory.
const (
	maxMessage = 16 << 10
	maxFiles   = 8
	maxFile    = 64 << 20
)

// ask is the first message of a client.
type ask struct {
	NIC string `json:"nic"` // empty: the client asks only what there is, and gets it as a file
	MTU int    `json:"mtu"`
	// Connections: it asks not for the names of all NICs but for connections.
	Connections bool `json:"connections"`
}

// reply is what a server says to a client.
type reply struct {
	Error     string `json:"error,omitempty"`
	Elsewhere string `json:"elsewhere,omitempty"` // the host that has the NIC
	Make      *spec  `json:"make,omitempty"`      // the client makes the holder, with these files: its connection, hosts
	// Ready: the namespace is there. With a file: the connection to its holder that was asked for.
	Ready bool `json:"ready,omitempty"`
}

// spec is what a holder makes.
type spec struct {
	NIC    string `json:"nic"`
	Number uint32 `json:"number"`
	MTU    int    `json:"mtu"`
}

// made is what a holder says when its namespace is there, with the file of weft0, or cannot be.
type made struct {
	Error string `json:"error,omitempty"`
}

// run has a holder start a program. The first file is a [Command] in memory, the others are its
// own.
type run struct {
	Told *told `json:"told,omitempty"` // to a server: nothing is to be started, this is to be noted
}

// signalled has a holder signal the program.
type signalled struct {
	Signal int `json:"signal"`
}

// ended is what a holder says of a program.
type ended struct {
	Error string `json:"error,omitempty"` // it could not be started
	Code  int    `json:"code"`
}

// conn carries messages and files between two processes. One goroutine may send while another
// receives.
type conn struct{ *net.UnixConn }

// pair is two ends of a connection, to be passed on.
func pair() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// connOf is the connection that a file is, which is closed.
func connOf(f *os.File) (*conn, error) {
	c, err := net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("this is no socket of this machine"), c.Close())
	}
	return &conn{u}, nil
}

func (c *conn) send(message any, files ...*os.File) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(data) > maxMessage {
		return fmt.Errorf("a message has %d bytes: at most %d", len(data), maxMessage)
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(data, rights, nil)
	return err
}

// receive waits for a message and returns the files that came with it. The error is io.EOF when the
// other end is closed.
func (c *conn) receive(message any) (files []*os.File, err error) {
	data, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, m, flags, _, err := c.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	controls, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, err
	}
	for i := range controls {
		fds, err := unix.ParseUnixRights(&controls[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	switch {
	case n == 0:
		return files, io.EOF
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		return files, errors.New("a message is too long")
	}
	if err := json.Unmarshal(data[:n], message); err != nil {
		return files, err
	}
	return files, nil
}

// exactly closes files and returns an error unless there are so many.
func exactly(n int, files []*os.File) error {
	if len(files) == n {
		return nil
	}
	closeAll(files)
	return fmt.Errorf("a message has %d files, not %d", len(files), n)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// inMemory is a file that holds data.
func inMemory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("weft", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := f.WriteAt(data, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readAll reads such a file, from its beginning.
func readAll(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("a file in memory is above %d bytes", maxFile)
	}
	return data, err
}
