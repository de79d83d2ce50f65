//go:build linux

package namespace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/nicd"
)

// place is the namespace of a NIC as its server sees it.
type place struct {
	id    weft.NICID
	name  string
	nics  int // in the fabric
	users int // clients; guarded by Server.mu

	done   chan struct{} // closed when it is made, or cannot be
	err    error         // why it cannot be; constant when done is closed, as are those below
	mtu    int
	holder *conn
	tun    *os.File
	net    network // of its interface
	port   *ip.Port

	keep   func(*place) // hears of its connections when it ends
	kept   bool         // keep has; guarded by Server.ending
	once   sync.Once
	closed chan struct{} // closed when nothing of it is left here

	mu      sync.Mutex
	reason  string                  // why it has ended; "": it has not
	has     map[ends]report.Process // which processes have had its connections; bound: its connections
	clients map[*conn]bool          // those that are told when it ends; bound: the processes of one user
}

// make has a client make the namespace.
func (p *place) make(s *Server, c *conn, nic *nicd.NIC, mtu int) {
	defer func() {
		close(p.done)
		if p.err != nil {
			p.close()
		}
	}()
	if p.mtu = mtu; mtu == 0 {
		p.mtu = ip.DefaultMTU
	}
	if p.err = ip.CheckMTU(p.mtu); p.err != nil {
		p.end(p.err.Error())
		return
	}
	holder, tun, err := p.ask(s, c)
	if err != nil {
		p.err = fmt.Errorf("the namespace of NIC %s cannot be made: %w", p.name, err)
		p.end(p.err.Error())
		return
	}
	p.holder, p.tun, p.net, p.port = holder, tun, networkOf(tun), ip.Open(nic, p.id, p.nics)
	if p.over() { // meanwhile
		p.close()
		return
	}
	s.running.Go(p.takeFromPrograms)
	s.running.Go(p.giveToPrograms)
	s.running.Go(func() {
		_, _ = p.holder.receive(&made{}) // it says nothing more, but ends
		p.end("the process that holds it was killed")
		p.close()
	})
}

// ask has a client make the holder, and returns the connection to it and its interface.
func (p *place) ask(s *Server, c *conn) (*conn, *os.File, error) {
	hosts, err := s.hosts()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = hosts.Close() }()
	end, theirs, err := pair()
	if err != nil {
		return nil, nil, err
	}
	err = c.send(reply{Make: &spec{NIC: p.name, Number: uint32(p.id), MTU: p.mtu}}, theirs, hosts)
	_ = theirs.Close()
	holder, failed := connOf(end)
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, err
	}
	var m made
	files, err := []*os.File(nil), holder.SetReadDeadline(time.Now().Add(makeTime))
	if err == nil {
		files, err = holder.receive(&m)
	}
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("who was to make it has ended")
	case err == nil && m.Error != "":
		err = errors.New(m.Error)
	case err == nil:
		err = errors.Join(exactly(1, files), holder.SetReadDeadline(time.Time{}))
	}
	if err == nil {
		err = unix.SetNonblock(int(files[0].Fd()), true)
	}
	if err != nil {
		closeAll(files)
		return nil, nil, errors.Join(err, holder.Close())
	}
	fd, err := unix.FcntlInt(files[0].Fd(), unix.F_DUPFD_CLOEXEC, 0) // a file that can be waited for
	closeAll(files)
	if err != nil {
		return nil, nil, errors.Join(err, holder.Close())
	}
	return holder, os.NewFile(uintptr(fd), Interface), nil
}

// takeFromPrograms sends what programs send. While the NIC holds back, packets wait in the
// interface.
func (p *place) takeFromPrograms() {
	buffer := make([]byte, 1<<16)
	for {
		n, err := p.tun.Read(buffer)
		if err != nil || errors.Is(p.port.Send(buffer[:n]), ip.ErrClosed) {
			return
		}
	}
}

// giveToPrograms gives programs what comes.
func (p *place) giveToPrograms() {
	for p.port.Receive(func(packet []byte) { _, _ = p.tun.Write(packet) }) == nil { // a full interface drops it
	}
}

// connections are what its packets tell; it has been made.
func (p *place) connections() (list []Connection) {
	if p.port == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.port.Connections() {
		list = append(list, Connection{NIC: p.name, Connection: c, Process: p.has[ends{c.From, c.To}]})
	}
	return list
}

// seen notes which processes have its connections now. Those of connections that are remembered are
// too.
func (p *place) seen(now map[ends]report.Process) {
	known := p.connections()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has = map[ends]report.Process{}
	for _, c := range known {
		e := ends{c.From, c.To}
		if is, ok := now[e]; ok {
			c.Process = is
		}
		p.has[e] = c.Process
	}
}

// over reports whether it has ended.
func (p *place) over() bool { return p.why() != "" }

func (p *place) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == "" {
		return ""
	}
	return fmt.Sprintf("the namespace of NIC %s has ended: %s", p.name, p.reason)
}

// follow has a client told when the namespace ends; it reports false when it has.
func (p *place) follow(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[c] = true
	return p.reason == ""
}

func (p *place) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, c)
}

// drain ends the namespace when what its programs have sent has arrived, see [drain].
func (p *place) drain(reason string) {
	p.mu.Lock()
	over := p.reason != ""
	if !over {
		p.reason = reason
	}
	p.mu.Unlock()
	if !over && p.holder != nil {
		_ = p.holder.CloseWrite() // it ends, which make sees
	}
}

// end ends the namespace at once, with all in it; the first reason is the one.
func (p *place) end(reason string) {
	p.mu.Lock()
	if p.reason == "" {
		p.reason = reason
	}
	clients := p.clients
	p.clients = map[*conn]bool{}
	p.mu.Unlock()
	for c := range clients {
		_ = c.send(reply{Error: p.why()}) // who has gone needs not be told
		_ = c.CloseRead()
	}
	select {
	case <-p.done:
		p.close()
	default: // make looks
	}
}

func (p *place) close() {
	p.once.Do(func() {
		defer close(p.closed)
		if p.port == nil {
			return
		}
		p.keep(p)
		p.port.Close()
		_ = p.tun.Close() // nothing is left to be written
		_ = p.holder.Close()
	})
}
