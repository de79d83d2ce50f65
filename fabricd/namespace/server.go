//go:build linux

package namespace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/nic/ip"
)

// makeTime is far more than a namespace takes to be made.
const makeTime = 30 * time.Second

// socketEnd ends the name of a server's socket, FABRIC.HOST.nics.
const socketEnd = ".nics"

// Server lets programs of its own user have the NICs of a process.
type Server struct {
	cfg      Config
	listener *net.UnixListener
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool                  // Close was called
	conns  map[*conn]bool        // of clients; bound: the processes of one user
	places map[weft.NICID]*place // bound: the NICs of the process

	ending sync.Mutex
	ended  []Connection  // of namespaces that have ended; bound: maxEnded; guarded by ending
	rates  rates         // guarded by ending
	over   chan struct{} // closed by Close
	began  time.Time
}

// Serve opens the socket. The caller closes the server before its NICs end.
func Serve(cfg Config) (*Server, error) {
	folder, err := safefile.Folder(registry.Dir().Path)
	if err != nil {
		return nil, fmt.Errorf("programs cannot have NICs: %w", err)
	}
	s := &Server{
		cfg: cfg, conns: map[*conn]bool{}, places: map[weft.NICID]*place{}, over: make(chan struct{}), began: time.Now(),
	}
	name := cfg.Fabric + "." + cfg.Host + socketEnd
	if err := inFolder(folder, name, func(path string) (err error) {
		s.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
		if !errors.Is(err, syscall.EADDRINUSE) {
			return errors.Join(err, os.Chmod(path, 0o600))
		}
		if c, answers := net.Dial("unixpacket", path); answers == nil {
			return errors.Join(errors.New("another process serves them"), c.Close())
		}
		// A process that was killed left it.
		if err := os.Remove(path); err != nil {
			return err
		}
		s.listener, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
		return errors.Join(err, os.Chmod(path, 0o600))
	}); err != nil {
		return nil, fmt.Errorf("programs cannot have NICs of %s: %w", cfg.Fabric, err)
	}
	s.listener.SetUnlinkOnClose(false) // its path ends with this function
	s.running.Go(s.look)
	s.running.Go(func() {
		for {
			c, err := s.listener.AcceptUnix()
			if err != nil {
				_ = os.Remove(filepath.Join(folder, name)) // best effort: nobody serves it
				return
			}
			s.running.Go(func() { s.serve(&conn{c}) })
		}
	})
	return s, nil
}

// inFolder calls do with a path to a file of a folder that is short enough for a socket, however
// long the folder's own is.
func inFolder(folder, name string, do func(path string) error) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name))
}

// Close takes the NICs from all programs, which ends them. To close a server again does nothing.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.over)
	for c := range s.conns {
		_ = c.Close()
	}
	for _, p := range s.places {
		p.end("the fabric has ended")
	}
	s.mu.Unlock()
	err := s.listener.Close()
	s.running.Wait()
	return err
}

// serve is one client, until its connection ends.
func (s *Server) serve(c *conn) {
	defer func() { _ = c.Close() }()
	s.mu.Lock()
	s.conns[c] = true
	closed := s.closed
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	if closed || !ours(c) {
		return
	}
	var a ask
	files, err := c.receive(&a)
	if closeAll(files); err != nil {
		return
	}
	if a.NIC == "" {
		var answer any = s.cfg.Names
		if a.Connections {
			answer = s.connections()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return
		}
		if file, err := inMemory(text); err == nil {
			_ = c.send(reply{Ready: true}, file)
			_ = file.Close()
		}
		return
	}
	if r := s.attach(c, a); r.Error != "" || r.Elsewhere != "" {
		_ = c.send(r) // who has gone needs no answer
	}
}

// ours reports whether a process of our own user has the other end.
func ours(c *conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		same = err == nil && int(cred.Uid) == os.Geteuid()
	})
	return same && err == nil
}

// attach gives a client its place until its connection ends. The reply says what it cannot have.
func (s *Server) attach(c *conn, a ask) reply {
	id, known := weft.NICID(0), false
	for i, name := range s.cfg.Names {
		if name == a.NIC {
			id, known = weft.NICID(i), true
		}
	}
	if !known {
		return reply{Error: document.Unknown("NIC", a.NIC, s.cfg.Names).Error()}
	}
	nic := s.cfg.NIC(id)
	if nic == nil {
		return reply{Elsewhere: s.cfg.Where(id)}
	}
	p, maker := s.join(id)
	defer s.leave(p)
	if maker {
		p.make(s, c, nic, a.MTU)
	}
	<-p.done
	switch {
	case p.err != nil:
		return reply{Error: p.err.Error()}
	case a.MTU != 0 && a.MTU != p.mtu:
		return reply{Error: fmt.Sprintf("the namespace of NIC %s has an MTU of %d bytes while programs run in it: end them, "+
			"or leave --mtu out", a.NIC, p.mtu)}
	}
	if !p.follow(c) {
		return reply{Error: p.why()}
	}
	defer p.forget(c)
	if c.send(reply{Ready: true}) != nil {
		return reply{}
	}
	var rate *rate
	defer func() { s.finish(rate) }()
	for { // each message wants a program to be run, or tells something
		var r run
		files, err := c.receive(&r)
		if closeAll(files); err != nil {
			return reply{}
		}
		if r.Told != nil {
			rate = s.tell(rate, p.name, *r.Told)
			continue
		}
		end, theirs, err := pair()
		if err != nil {
			return reply{Error: err.Error()}
		}
		err = errors.Join(p.holder.send(run{}, theirs), c.send(reply{Ready: true}, end))
		closeAll([]*os.File{end, theirs})
		if err != nil {
			return reply{Error: p.why()}
		}
	}
}

// maxEnded bounds the connections that are told of when their namespaces have ended; the oldest are
// forgotten. Chosen by us.
const maxEnded = 1024

// keep remembers the connections of a namespace that ends.
func (s *Server) keep(p *place) {
	list := p.connections()
	for i := range list {
		list[i].Ended, list[i].Standing = true, 0
	}
	s.ending.Lock()
	defer s.ending.Unlock()
	s.ended = newest(append(s.ended, list...), maxEnded)
	p.kept = true
}

// connections are those of all namespaces, first of those that have ended.
func (s *Server) connections() (list []Connection) {
	places := s.made()
	s.ending.Lock()
	defer s.ending.Unlock()
	list = append([]Connection{}, s.ended...)
	for _, p := range places {
		if !p.kept {
			list = append(list, p.connections()...)
		}
	}
	return list
}

// join is the place of a NIC, with one client more. The first one makes it.
func (s *Server) join(id weft.NICID) (p *place, maker bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if p = s.places[id]; p == nil || !p.over() {
			break
		}
		s.mu.Unlock()
		<-p.closed // a NIC has one namespace
		s.mu.Lock()
		if s.places[id] == p {
			delete(s.places, id)
		}
	}
	if p == nil {
		p = &place{
			id: id, name: s.cfg.Names[id], nics: len(s.cfg.Names), clients: map[*conn]bool{},
			done: make(chan struct{}), closed: make(chan struct{}), keep: s.keep,
		}
		s.places[id], maker = p, true
	}
	p.users++
	return p, maker
}

// leave ends the place of a NIC with its last client.
func (s *Server) leave(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 {
		p.drain("its last program has ended")
	}
}

// hosts is the file of hosts of a namespace.
func (s *Server) hosts() (*os.File, error) {
	var text bytes.Buffer
	if err := ip.WriteHosts(&text, s.cfg.Names); err != nil {
		return nil, err
	}
	return inMemory(text.Bytes())
}

// sockets are the sockets of a fabric in a folder, or of all, by name.
func sockets(folder, fabric string) (list []string, err error) {
	files, err := os.ReadDir(folder)
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), socketEnd)
		if of, _, named := strings.Cut(name, "."); ok && named && (fabric == "" || of == fabric) {
			list = append(list, f.Name())
		}
	}
	return list, err
}
