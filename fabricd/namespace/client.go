//go:build linux

package namespace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Namespace is a client's place in the namespace of a NIC. Its methods may be called by several
// goroutines.
type Namespace struct {
	Fabric string // of the NIC
	nic    string
	server *conn
	ends   chan struct{} // closed when the server's connection ends
	asking sync.Mutex    // one asks for a connection at a time
	given  chan *os.File // cap 1: the connection asked for

	mu  sync.Mutex
	err error // why it has ended
}

// Open joins the namespace of a NIC, and makes it if there is none. The error is an
// [ElsewhereError], wraps [ErrUnable], or says what is wrong with o.
func Open(ctx context.Context, o Options) (*Namespace, error) {
	c, fabric, err := dial(o.Fabric, ask{NIC: o.NIC, MTU: o.MTU})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	n := &Namespace{Fabric: fabric, nic: o.NIC, server: c.conn, ends: make(chan struct{}), given: make(chan *os.File, 1)}
	for r, files := c.first, c.files; ; {
		switch {
		case r.Make != nil:
			if err = exactly(2, files); err == nil {
				err = makeHolder(*r.Make, files[0], files[1])
				closeAll(files)
			}
			if err != nil { // the server sees that nobody makes it
				return nil, errors.Join(err, c.Close())
			}
		case r.Ready:
			go n.follow() // until the connection is closed
			return n, nil
		case r.Error != "":
			return nil, errors.Join(errors.New(r.Error), c.Close())
		}
		r = reply{}
		if files, err = c.receive(&r); err != nil {
			return nil, errors.Join(fmt.Errorf("the process that has NIC %s has ended: %w", o.NIC, err), c.Close(), ctx.Err())
		}
	}
}

// NICs are the names of all NICs of a fabric, and its name; see Options.
func NICs(ctx context.Context, fabric string) (names []string, of string, err error) {
	of, err = question(ctx, fabric, ask{}, &names)
	return names, of, err
}

// Connections are those of programs on the NICs of this machine, also of the latest that have
// ended.
func Connections(ctx context.Context, fabric string) (list []Connection, err error) {
	_, err = question(ctx, fabric, ask{Connections: true}, &list)
	return list, err
}

// question asks what there is, and returns the fabric that was asked.
func question(ctx context.Context, fabric string, a ask, answer any) (of string, err error) {
	d, of, err := dial(fabric, a)
	if err != nil {
		return "", err
	}
	if err = errors.Join(exactly(1, d.files), d.Close(), ctx.Err()); err != nil {
		return "", err
	}
	text, err := readAll(d.files[0])
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	return of, errors.Join(err, d.files[0].Close())
}

// dialled is a connection to a server that has the NIC, with what it said first.
type dialled struct {
	*conn
	first reply
	files []*os.File
}

// dial asks the servers of this machine.
func dial(fabric string, a ask) (d dialled, of string, err error) {
	folder, err := safefile.Folder(registry.Dir().Path)
	if err != nil {
		return d, "", err
	}
	names, err := sockets(folder, "")
	if err != nil {
		return d, "", err
	}
	servers := map[string][]*conn{} // by fabric
	defer func() {
		for _, list := range servers {
			for _, c := range list {
				if c != d.conn {
					_ = c.Close()
				}
			}
		}
	}()
	for _, name := range names {
		var c net.Conn
		if inFolder(folder, name, func(path string) (err error) {
			c, err = net.Dial("unixpacket", path)
			return err
		}) == nil { // else nobody serves it any more
			of, _, _ := strings.Cut(name, ".")
			servers[of] = append(servers[of], &conn{c.(*net.UnixConn)})
		}
	}
	if fabric, err = choose(fabric, servers); err != nil {
		return d, "", err
	}
	for _, c := range servers[fabric] {
		if err := c.send(a); err != nil {
			return d, "", err
		}
		r := reply{}
		files, answered := c.receive(&r)
		switch {
		case answered != nil:
			err = fmt.Errorf("the process of fabric %s on this machine has ended, or runs as another user: %w", fabric, answered)
		case r.Elsewhere != "":
			err = &ElsewhereError{NIC: a.NIC, Host: r.Elsewhere}
		default:
			return dialled{c, r, files}, fabric, nil
		}
	}
	return d, "", err
}

// choose is the fabric meant.
func choose(fabric string, servers map[string][]*conn) (string, error) {
	var there []string
	for name := range servers {
		there = append(there, name)
	}
	slices.Sort(there)
	switch {
	case len(there) == 0:
		return "", fmt.Errorf("%w on this machine for user %d: start one with fabricd up, or go to the host that has the "+
			"NIC", registry.ErrNone, os.Getuid())
	case fabric == "" && len(there) == 1:
		return there[0], nil
	case fabric == "":
		return "", fmt.Errorf("%d fabrics are running here, say which with --fabric: %s", len(there),
			strings.Join(there, ", "))
	case !slices.Contains(there, fabric):
		return "", document.Unknown("fabric", fabric, there)
	}
	return fabric, nil
}

// follow hears the server until the connection ends.
func (n *Namespace) follow() {
	defer close(n.ends)
	for {
		var r reply
		files, err := n.server.receive(&r)
		if err == nil && r.Error != "" {
			err = errors.New(r.Error)
		} else if err != nil {
			err = fmt.Errorf("the process that has NIC %s has ended", n.nic)
		}
		if err == nil {
			if err = exactly(1, files); err == nil {
				n.given <- files[0] // it was asked for, and only one is at a time
				continue
			}
		}
		n.mu.Lock()
		n.err = err
		n.mu.Unlock()
		return
	}
}

// why is why the namespace has ended.
func (n *Namespace) why() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// connect is a connection to the holder.
func (n *Namespace) connect() (*conn, error) {
	n.asking.Lock()
	defer n.asking.Unlock()
	if err := n.server.send(run{}); err != nil {
		<-n.ends
		return nil, n.why()
	}
	select {
	case f := <-n.given:
		return connOf(f)
	case <-n.ends:
		return nil, n.why()
	}
}

// Run runs a program to its end, and passes the signals that come on to it. The exit code is the
// program's, or 128 and the signal that ended it. The error says why it cannot be started, or that
// its namespace has ended, and the program with it.
func (n *Namespace) Run(c Command, signals <-chan os.Signal) (code int, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	command, err := inMemory(text)
	if err != nil {
		return 0, err
	}
	defer func() { _ = command.Close() }()
	holder, err := n.connect()
	if err != nil {
		return 0, err
	}
	return runBy(holder, c, command, signals, func() error { <-n.ends; return n.why() })
}

// runBy has a holder run a command, which is in memory too. why is asked when the holder ends.
func runBy(holder *conn, c Command, command *os.File, signals <-chan os.Signal, why func() error) (code int,
	err error,
) {
	defer func() { _ = holder.Close() }()
	if err := holder.send(run{}, append([]*os.File{command}, c.Files[:]...)...); err != nil {
		return 0, err
	}
	ends := make(chan error, 1)
	var e ended
	go func() {
		_, err := holder.receive(&e)
		ends <- err
	}()
	for {
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				_ = holder.send(signalled{Signal: int(number)}) // when it has ended it needs none
			}
		case err := <-ends:
			switch {
			case errors.Is(err, io.EOF):
				return 0, why()
			case err != nil:
				return 0, err
			case e.Error != "":
				return 0, errors.New(e.Error)
			}
			return e.Code, nil
		}
	}
}

// Tell has the page show how fast a program goes, as so many units a second.
func (n *Namespace) Tell(program, unit string, value float64) error {
	return n.server.send(run{Told: &told{clip(program), clip(unit), value}})
}

// leaveTime is far more than a server takes to see that a client leaves.
const leaveTime = 2 * time.Second

// Close leaves the namespace, and returns when its server knows. With the last client all that is
// in it ends.
func (n *Namespace) Close() error {
	err := errors.Join(n.server.SetReadDeadline(time.Now().Add(leaveTime)), n.server.CloseWrite())
	<-n.ends
	return errors.Join(err, n.server.Close())
}

// Signals are those to pass on to a program, where this process gets them.
var Signals = []os.Signal{
	os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// holderName is the name of a holder among processes, and how Main knows one.
const holderName = "weft-nic"

// makeHolder starts the holder of a namespace, with its connection to the server and the file of
// hosts. It goes on when this process ends.
func makeHolder(s spec, control, hosts *os.File) error {
	if !mainCalled.Load() {
		return errors.New("this program calls namespace.Main nowhere, which it must before all else")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	start := func(user bool) error {
		cmd := &exec.Cmd{
			Path: "/proc/self/exe", Args: []string{holderName, string(text)}, Dir: "/", ExtraFiles: []*os.File{control, hosts},
			Env: []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR")}, SysProcAttr: attributes(user),
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // its server hears how it ends; ours when this process ends
		return nil
	}
	user := os.Geteuid() != 0
	if err = start(user); err != nil && !user {
		err = start(true) // root of a container may do so
	}
	if err != nil {
		return unable(err)
	}
	return nil
}
