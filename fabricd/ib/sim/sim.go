//go:build linux

package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/ib"
)

// MostClients bounds the programs that are connected at one moment. Chosen by us.
const MostClients = 64

// Fabric is what programs talk to. Methods are called by several goroutines.
type Fabric interface {
	// Attach finds the node that a program names, and joins it there. name is the node's.
	Attach(client, process int, node string) (name string, err error)
	Detach(client int)
	// SetManager says whether a program is a subnet manager. It errs where another is already.
	SetManager(client int, is bool) error
	Info(client int) (node, port, keys [64]byte)
	// Send takes a datagram of a program. It may wait; the program's next ones do then.
	Send(client int, d ib.Datagram)
}

// Server serves a fabric to programs.
type Server struct {
	name   string
	fabric Fabric
	ctl    *net.UnixConn
	note   func(who, text string)

	mu      sync.Mutex // held while programs come and go; who delivers does not need it
	clients [MostClients]atomic.Pointer[client]
	running sync.WaitGroup
}

type client struct {
	number  int
	process int // of the program, as the system says
	conn    *net.UnixConn
	gone    atomic.Bool // nobody reads any more

	out  chan []byte   // what it is to read; bound: mostUnread
	done chan struct{} // closed when it was dropped
}

// mostUnread bounds the datagrams that a program has not read; the system itself keeps 10 for it.
// Chosen by us.
const mostUnread = 1024

// Listen opens the sockets of a name. Note hears which program says what is not of the protocol,
// each time.
func Listen(name string, f Fabric, note func(who, text string)) (*Server, error) {
	ctl, err := listen(name + ":ctl")
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"another fabric or ibsim serves programs as %q: choose another name with --ib=NAME", name)
	}
	if err != nil {
		return nil, err
	}
	return &Server{name: name, fabric: f, ctl: ctl, note: note}, nil
}

// listen opens a socket by its abstract name. These programs end a name with a zero byte. The
// system is asked to say whose every message is.
func listen(name string) (*net.UnixConn, error) {
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: "@" + name + "\x00"})
	if err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err == nil {
		cerr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_PASSCRED, 1)
		})
		err = errors.Join(err, cerr)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// join connects a socket to that of a program, so that who writes waits until there is room.
func join(c *net.UnixConn, name string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) {
		err = syscall.Connect(int(fd), &syscall.SockaddrUnix{Name: "@" + name + "\x00"})
	})
	return errors.Join(cerr, err)
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = s.ctl.Close() })
	defer stop()
	s.running.Go(func() { s.reap(ctx) })
	b := make([]byte, packetSize)
	for {
		n, process, from, err := receive(s.ctl, b)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil {
			s.note(program(process), fmt.Sprintf("it was not heard: %v", err))
			continue
		}
		o, err := parseOrder(b[:n])
		if err != nil {
			s.note(program(process), err.Error())
			continue
		}
		s.carryOut(&o, process)
		_ = send(s.ctl, o.bytes(), from) // a program that does not read has no answer
	}
	s.mu.Lock()
	for i := range s.clients {
		s.drop(i)
	}
	s.mu.Unlock()
	s.running.Wait()
}

var errStranger = errors.New("it is of another user")

// program names a process to people.
func program(process int) string { return fmt.Sprintf("process %d", process) }

// receive reads one message, and whose it is.
func receive(c *net.UnixConn, b []byte) (n, process int, from *net.UnixAddr, err error) {
	oob := make([]byte, 64)
	n, oobn, _, from, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return 0, 0, nil, err
	}
	list, err := syscall.ParseSocketControlMessage(oob[:oobn])
	for _, m := range list {
		if who, err := syscall.ParseUnixCredentials(&m); err == nil {
			if int(who.Uid) != os.Getuid() && who.Uid != 0 {
				return 0, int(who.Pid), nil, errStranger
			}
			return n, int(who.Pid), from, nil
		}
	}
	return 0, 0, nil, errors.Join(errStranger, err)
}

// send writes a message at once, or not at all when its reader does not keep up.
func send(c *net.UnixConn, b []byte, to *net.UnixAddr) error {
	if to == nil {
		return errFrame
	}
	return sendTo(c, b, &syscall.SockaddrUnix{Name: to.Name + "\x00"})
}

func sendTo(c *net.UnixConn, b []byte, to *syscall.SockaddrUnix) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	werr := raw.Write(func(fd uintptr) bool {
		err = syscall.Sendto(int(fd), b, syscall.MSG_DONTWAIT, to)
		return true
	})
	return errors.Join(werr, err)
}

// carryOut does what an order says and makes it the answer.
func (s *Server) carryOut(o *order, process int) {
	if o.kind == orderConnect {
		if err := s.connect(o, process); err != nil {
			o.kind = orderError
			s.note(program(process), fmt.Sprintf("it does not come in: %v", err))
		}
		return
	}
	n := int(o.client)
	if c := s.client(n); c == nil || c.process != process {
		o.kind = orderError
		return
	}
	switch o.kind {
	case orderDisconnect:
		s.mu.Lock()
		s.drop(n)
		s.mu.Unlock()
	case orderSetManager:
		if err := s.fabric.SetManager(n, o.data[0] != 0); err != nil {
			o.kind = orderError
			s.note(program(process), err.Error())
		}
	case orderPort, orderVendor, orderGID, orderGUID, orderNodeInfo, orderPortInfo, orderKeys:
		node, port, keys := s.fabric.Info(n)
		o.data = answer(o.kind, &node, &port, &keys)
	default:
		o.kind = orderError
	}
}

// connect gives a program a number, a socket and a place.
func (s *Server) connect(o *order, process int) error {
	want := o.connect()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropDead()
	number, conn, err := s.free()
	if err != nil {
		return err
	}
	if err := join(conn, fmt.Sprintf("%s:in%d", s.name, want.id)); err != nil {
		_ = conn.Close()
		return err
	}
	name, err := s.fabric.Attach(number, process, want.node)
	if err == nil && want.manager {
		err = s.fabric.SetManager(number, true)
	}
	if err != nil {
		s.fabric.Detach(number)
		_ = conn.Close()
		return err
	}
	c := &client{number: number, process: process, conn: conn}
	c.out, c.done = make(chan []byte, mostUnread), make(chan struct{})
	s.clients[number].Store(c)
	s.running.Go(func() { s.serve(c) })
	s.running.Go(c.write)
	o.setConnected(number, name)
	return nil
}

// free finds a number that no program has, and opens its socket. The caller holds mu. A process that is
// being started holds the files of this one for a moment, and with them the name of a socket that was
// just closed: then the next number will do.
func (s *Server) free() (int, *net.UnixConn, error) {
	for i := range s.clients {
		if s.clients[i].Load() != nil {
			continue
		}
		conn, err := listen(fmt.Sprintf("%s:out%d", s.name, i))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return i, conn, err
		}
	}
	return 0, nil, fmt.Errorf("%d programs are connected, which is the most", MostClients)
}

// drop ends what a program had. The caller holds mu.
func (s *Server) drop(i int) {
	if c := s.clients[i].Swap(nil); c != nil {
		close(c.done)
		_ = c.conn.Close()
		s.fabric.Detach(i)
	}
}

// serve hears the datagrams of a program.
func (s *Server) serve(c *client) {
	b := make([]byte, 2*packetSize)
	for {
		n, process, _, err := receive(c.conn, b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && process != c.process {
			err = fmt.Errorf("it sends for process %d", c.process)
		}
		var d ib.Datagram
		if err == nil {
			d, err = parsePacket(b[:n])
		}
		if err != nil {
			s.note(program(process), fmt.Sprintf("a datagram was not taken: %v", err))
			continue
		}
		s.fabric.Send(c.number, d)
	}
}

// client is a program by its number; nil: there is none.
func (s *Server) client(number int) *client {
	if number < 0 || number >= MostClients {
		return nil
	}
	return s.clients[number].Load()
}

// Deliver gives a program a datagram and does not wait. One that does not keep up loses it.
func (s *Server) Deliver(number int, d *ib.Datagram) error {
	c := s.client(number)
	if c == nil {
		return net.ErrClosed
	}
	select {
	case c.out <- packetBytes(d):
		return nil
	default:
		return syscall.EAGAIN
	}
}

// write gives a program what it is to read, as it reads, until it is dropped.
func (c *client) write() {
	for {
		select {
		case <-c.done:
			return
		case b := <-c.out:
			if _, err := c.conn.Write(b); errors.Is(err, syscall.ECONNREFUSED) {
				c.gone.Store(true)
			}
		}
	}
}

// reapEvery is how often it is looked whether programs have ended without a word. Chosen by us.
const reapEvery = 500 * time.Millisecond

// reap drops those until ctx ends.
func (s *Server) reap(ctx context.Context) {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		s.dropDead()
		s.mu.Unlock()
	}
}

// dropDead drops programs that have ended without a word. The caller holds mu.
func (s *Server) dropDead() {
	for i := range s.clients {
		c := s.clients[i].Load()
		if c != nil && (c.gone.Load() || errors.Is(syscall.Kill(c.process, 0), syscall.ESRCH)) {
			s.drop(i)
		}
	}
}
