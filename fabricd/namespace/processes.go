//go:build linux

package namespace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// ends are the two ends of a connection, the own first.
type ends struct{ from, to netip.AddrPort }

// network is the number of a network namespace.
type network uint64

// networkOf is the network of the interface that tun is; 0: the system does not tell.
func networkOf(tun *os.File) (n network) {
	raw, err := tun.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		ns, err := unix.IoctlRetInt(int(fd), unix.SIOCGSKNS)
		if err != nil {
			return
		}
		var stat unix.Stat_t
		if unix.Fstat(ns, &stat) == nil {
			n = network(stat.Ino)
		}
		_ = unix.Close(ns)
	})
	return n
}

// processes finds which processes of this machine have which connections of TCP, in these networks.
// What it may not see is left out.
func processes(of []network) map[network]map[ends]report.Process {
	found := map[network]map[ends]report.Process{}
	sockets := map[network]map[uint64]ends{} // by inode
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		var stat unix.Stat_t
		if unix.Stat(folder+"/ns/net", &stat) != nil || !slices.Contains(of, network(stat.Ino)) {
			continue
		}
		n := network(stat.Ino)
		if sockets[n] == nil { // every process of a network shows all
			sockets[n], found[n] = connectionsIn(folder), map[ends]report.Process{}
		}
		pid, _ := strconv.Atoi(filepath.Base(folder))
		p := report.Process{Program: programOf(folder), PID: pid}
		files, _ := os.ReadDir(folder + "/fd")
		for _, f := range files {
			to, _ := os.Readlink(folder + "/fd/" + f.Name())
			number, ok := strings.CutPrefix(to, "socket:[")
			if !ok {
				continue
			}
			inode, _ := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
			e, ok := sockets[n][inode]
			if had := found[n][e]; ok && (had.PID == 0 || pid > had.PID) { // of a parent and its child, the child
				found[n][e] = p
			}
		}
	}
	return found
}

// programOf is the name of a program, of the folder of its process: that of its command, as ps has
// it.
func programOf(folder string) string {
	line, _ := os.ReadFile(folder + "/cmdline")
	command, _, _ := bytes.Cut(line, []byte{0})
	name := filepath.Base(string(command))
	if len(command) == 0 {
		comm, _ := os.ReadFile(folder + "/comm")
		name = strings.TrimSpace(string(comm))
	}
	return clip(name)
}

// connectionsIn are the connections of the network of a process, by inode.
func connectionsIn(folder string) map[uint64]ends {
	list := map[uint64]ends{}
	for _, file := range []string{"/net/tcp", "/net/tcp6"} {
		text, _ := os.ReadFile(folder + file)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // number, local, remote, state, tx:rx, timer, again, user, timeout, inode
			if len(f) < 10 {
				continue
			}
			from, ok := address(f[1])
			to, ok2 := address(f[2])
			inode, err := strconv.ParseUint(f[9], 10, 64)
			if ok && ok2 && err == nil && inode != 0 && to.Port() != 0 {
				list[inode] = ends{from, to}
			}
		}
	}
	return list
}

// address reads an address as /proc/net/tcp has it: words of 32 bits in the order of the machine's
// bytes, in hexadecimal digits.
func address(text string) (a netip.AddrPort, ok bool) {
	words, portText, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	port, failed := strconv.ParseUint(portText, 16, 16)
	if err != nil || failed != nil || len(b)%4 != 0 {
		return a, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.BigEndian.PutUint32(b[i:], binary.NativeEndian.Uint32(b[i:]))
	}
	ip, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), ok
}
