//go:build linux

package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// attributes are those of a holder: namespaces of its own, one of users where it needs that to make
// the others. There its user is the same, and may do with the interface what root may.
func attributes(user bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS,
	}
	if user {
		a.Cloneflags |= unix.CLONE_NEWUSER
		uid, gid := os.Geteuid(), os.Getegid()
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	return a
}

// mainCalled is set once [Main] was called: whoever never calls it would start itself instead of a
// holder.
var mainCalled atomic.Bool

// Main is the holder, where this process was started as one; then it does not return. A program
// that opens namespaces calls it before all else.
func Main() {
	mainCalled.Store(true)
	if len(os.Args) != 2 || os.Args[0] != holderName || os.Getpid() != 1 {
		return
	}
	control, err := connOf(os.NewFile(3, "control"))
	if err != nil {
		os.Exit(2) // nobody can be told
	}
	tun, err := holderOf(os.Args[1], os.NewFile(4, "hosts"))
	if err != nil {
		_ = control.send(made{Error: err.Error()})
		os.Exit(2)
	}
	err = control.send(made{}, tun)
	_ = tun.Close() // the server has it now
	if err != nil {
		os.Exit(2)
	}
	p := newPrograms()
	for {
		files, err := control.receive(&run{})
		if err == nil {
			err = exactly(1, files)
		}
		if err != nil { // the server has closed it: all that is left ends with this process
			p.over.Store(true)
			drain()
			os.Exit(0)
		}
		if c, err := connOf(files[0]); err == nil {
			go p.serve(c)
		}
	}
}

// drainTime is how long connections may take to send what programs left to be sent, when the last
// one has ended. Chosen by us: some retransmissions take no longer.
const drainTime = 3 * time.Second

// drain ends all processes, and waits until the kernel has sent what they left in connections, as
// it does outside of namespaces.
func drain() {
	_ = unix.Kill(-1, unix.SIGKILL) // there may be none
	late := time.Now().Add(drainTime)
	for time.Now().Before(late) && unsent() {
		if _, err := net.InterfaceByName(Interface); err != nil {
			return // its NIC is gone
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// unsent reports whether a connection has data, or its end, to be sent or acknowledged.
func unsent() bool {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // number, local, remote, state, tx:rx, ...
			// FIN_WAIT1, LAST_ACK and CLOSING of include/net/tcp_states.h
			if len(f) > 4 && (f[3] == "04" || f[3] == "09" || f[3] == "0B") {
				return true
			}
		}
	}
	return false
}

// holderOf makes what a spec says, and returns the interface.
func holderOf(text string, hosts *os.File) (*os.File, error) {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, err
	}
	if err := unix.Sethostname([]byte(s.NIC)); err != nil {
		return nil, unable(fmt.Errorf("name of the host: %w", err))
	}
	if err := mounts(hosts); err != nil {
		return nil, unable(err)
	}
	tun, err := openTUN()
	if err != nil {
		return nil, err
	}
	if err := bringUp(weft.NICID(s.Number), s.MTU); err != nil {
		return nil, unable(errors.Join(fmt.Errorf("interface %s: %w", Interface, err), tun.Close()))
	}
	return tun, nil
}

// mounts puts hosts in the place of /etc/hosts, and shows the processes of this namespace in /proc.
func mounts(hosts *os.File) error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	// Where parts of /proc are hidden, as in containers, the kernel refuses another: the old one
	// stays.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	showInterfaces()
	text, err := readAll(hosts)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "weft-hosts-")
	if err != nil {
		return fmt.Errorf("file of hosts: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		if err = unix.Mount(f.Name(), "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
			err = fmt.Errorf("mount on /etc/hosts: %w", err)
		}
	}
	return errors.Join(err, os.Remove(f.Name())) // what is mounted stays
}

// showInterfaces shows the interfaces of this namespace in /sys, where MPI looks for them. What was
// mounted there for control groups stays. Where the kernel refuses it, as in containers, the old
// one stays.
func showInterfaces() {
	const groups = "/sys/fs/cgroup"
	fd, err := unix.Open(groups, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	err = unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err == nil && fd >= 0 {
		_ = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), groups, "", unix.MS_BIND|unix.MS_REC, "") // else it is empty
	}
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}

// openTUN makes the interface. It is there until the last of its files is closed.
func openTUN() (*os.File, error) {
	const device = "/dev/net/tun"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV):
		return nil, fmt.Errorf("%w: there is no %s: load it with modprobe tun, or give it to the container with "+
			"--device %s", ErrUnable, device, device)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("%w: user %d may not open %s: chmod 0666 %s, as most systems have it", ErrUnable,
			os.Geteuid(), device, device)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", device, err)
	}
	r, err := unix.NewIfreq(Interface)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		return nil, unable(errors.Join(fmt.Errorf("make interface %s: %w", Interface, err), unix.Close(fd)))
	}
	return os.NewFile(uintptr(fd), Interface), nil
}

// bringUp gives the interfaces their addresses.
func bringUp(id weft.NICID, mtu int) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	l, err := netlink.LinkByName(Interface)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(l, mtu); err != nil {
		return err
	}
	four := &net.IPNet{IP: ip.Address4(id).AsSlice(), Mask: net.CIDRMask(ip.Network4.Bits(), 32)}
	if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: four}); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return err
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		return nil // this kernel has no IPv6
	}
	six := &net.IPNet{IP: ip.Address6(id).AsSlice(), Mask: net.CIDRMask(ip.Network6.Bits(), 128)}
	return netlink.AddrAdd(l, &netlink.Addr{IPNet: six, Flags: unix.IFA_F_NODAD})
}

// unable says what to set where the system does not let us.
func unable(err error) error {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOSPC) &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	help := "start it as root, or in a container with more rights (as docker run --privileged has)"
	for _, of := range []struct{ file, refuses, set string }{
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"},
		{"kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"},
		{"user/max_user_namespaces", "0", "user.max_user_namespaces=10000"},
		{"user/max_net_namespaces", "0", "user.max_net_namespaces=10000"},
	} {
		if text, err := os.ReadFile("/proc/sys/" + of.file); err == nil && strings.TrimSpace(string(text)) == of.refuses {
			help = "set sysctl -w " + of.set + ", or start it as root"
			break
		}
	}
	return fmt.Errorf("%w: %w: %s", ErrUnable, err, help)
}
