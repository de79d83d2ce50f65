//go:build linux

package ibd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Thirty cuts and repairs in a row, under traffic: OpenSM is killed and started again in the
// middle.
func TestManyCutsAndRepairsUnderOpenSM(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t, 7)
	draw := rand.New(rand.NewPCG(seed, 0))
	m := manage(t, "irregular:12,30,2")
	engine := m.with("updn")
	stop := m.opensm("", engine...)
	m.SetTraffic("uniform:0.05")
	var inside []topology.Link
	for _, l := range m.Topology().Links {
		if l.BetweenSwitches() {
			inside = append(inside, l)
		}
	}
	rounds := testenv.Levels(30, 12, 6)
	for i := range rounds {
		l := inside[draw.IntN(len(inside))]
		a, b, _ := strings.Cut(l.Name, "-")
		m.Cut(a, b)
		m.settle()
		if i == rounds/2 {
			stop()
			rig.Until(t, func() bool { return len(m.driver.Status().Managers) == 0 }, "OpenSM is still there")
			stop = m.opensm("", engine...)
		}
		m.Restore(a, b)
		m.settle()
	}
	m.requireSound()
	m.requireForwardsAsRead()
}

// Of two OpenSMs one is the master by its priority. When it dies, the other takes over and routes
// around a cut that only it can hear of.
func TestTheSecondOpenSMTakesOver(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "ring:6")
	conf := m.polling()
	engine := append(m.with("updn"), "-F", conf)
	stop := m.opensm("n0", append(engine, "-p", "5")...)
	m.start("n3", append(engine, "-p", "2")...)
	state := func() string {
		out, _ := m.command("n1", "sminfo").Output() // it fails while there is no master
		return string(out)
	}
	rig.Until(t, func() bool { return len(m.driver.Status().Managers) == 2 }, "both run")
	require.Contains(t, state(), "SMINFO_MASTER")
	m.SetTraffic("uniform:0.05")
	ledger, before := m.Fabric().Ledger(), state()
	stop()
	rig.Until(t, func() bool {
		now := state()
		return now != before && strings.Contains(now, "SMINFO_MASTER") && strings.Contains(now, "priority 2")
	}, "the second one is not the master")
	m.settle()
	m.requireNoneLost(ledger)
	m.Cut("s1", "s2")
	m.settle()
	m.requireSound()
	m.requireForwardsAsRead()
}

// An OpenSM that comes to the fabric of another one and goes before it has the fabric handed over,
// and the other one stands by.
func TestAnOpenSMOfHigherPriorityHasTheFabricHandedOver(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "ring:6")
	conf := m.polling()
	engine := append(m.with("updn"), "-F", conf)
	m.opensm("n3", append(engine, "-p", "2")...)
	m.SetTraffic("uniform:0.05")
	before := m.Fabric().Ledger()
	m.opensm("n0", append(engine, "-p", "5")...)
	rig.Until(t, func() bool {
		words := strings.Join(m.driver.Status().Words, "; ")
		return strings.Contains(words, "n0: master, priority 5") && strings.Contains(words, "n3: standby, priority 2")
	}, "the managers say otherwise")
	m.settle()
	m.requireNoneLost(before)
	m.requireSound()
	m.requireForwardsAsRead()
}

// A program that asks what is not there is told that nobody answers, with the transaction that it
// gave.
func TestARequestThatNobodyAnswersComesBack(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "ring:4")
	r := m.connect("n2")
	b := sensible(0x11, 0, 7)
	binary.BigEndian.PutUint16(b, 77) // the LID of nobody
	require.True(t, r.say(r.data, r.out, b))
	require.NoError(t, r.data.SetReadDeadline(time.Now().Add(rig.Patience)))
	back := make([]byte, len(b))
	_, err := r.data.Read(back)
	require.NoError(t, err)
	require.Equal(t, uint32(syscall.ETIMEDOUT), binary.BigEndian.Uint32(back[16:]))
	require.Equal(t, b[32:], back[32:])
}

// A program that asks more than it can be told at once, and reads later, has all answers.
func TestAProgramThatReadsLateHasAllAnswers(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "ring:4")
	r := m.connect("n2")
	const questions = 1500 // above what is kept for a program
	for i := range questions {
		require.True(t, r.say(r.data, r.out, sensible(0x11, 0, 8*(i+1)))) // the node itself answers
	}
	rig.Until(t, func() bool { return m.driver.Status().Lost["a program does not read, or is gone"] > 0 }, "all is kept")
	answered := map[uint64]bool{}
	b := make([]byte, 288)
	require.NoError(t, r.data.SetReadDeadline(time.Now().Add(rig.Patience)))
	for len(answered) < questions {
		_, err := r.data.Read(b)
		require.NoError(t, err, "%d answers", len(answered))
		answered[binary.BigEndian.Uint64(b[40:])] = true
	}
}

// Programs that talk nonsense, or die in the middle, harm nobody: packets are delivered, and a
// program that talks sense has its answers. The manager has a key, so that what happens to be an
// order is not one.
func TestNonsenseHarmsNobody(t *testing.T) {
	t.Parallel()
	m := manage(t, "ring:4")
	conf := filepath.Join(m.dir, "opensm.conf")
	require.NoError(t, os.WriteFile(conf, []byte("m_key 0x1122334455667788\n"), 0o600))
	m.opensm("", append(m.with("updn"), "-F", conf)...)
	m.SetTraffic("uniform:0.05")
	r := m.connect("n2")
	draw := rand.New(rand.NewPCG(testenv.Seed(t, 1), 1))
	for i := 0; i < testenv.Levels(1_000_000, 200_000, 30_000); {
		b := sensible(uint16(0x10+i%0x12), i%5, i)
		for range draw.IntN(8) {
			b[draw.IntN(len(b))] ^= byte(1 << draw.IntN(8))
		}
		if !r.say(r.data, r.out, b) {
			r.connect() // it has said by chance that it goes
			continue
		}
		if i++; i%100 == 0 {
			r.say(r.data, r.out, b[:draw.IntN(len(b))])
			r.say(r.ctl, r.orders, b[:draw.IntN(len(b))])
			r.say(r.ctl, r.orders, order(uint32(draw.IntN(80)), uint32(2+draw.IntN(12)), nil)) // but no connect
		}
	}
	require.Contains(t, m.run("n1", "sminfo"), "SMINFO_MASTER")
	m.requireSound()
	require.Zero(t, m.Fabric().Ledger().Lost)
	m.requireForwardsAsRead()
}

// sensible is a request by LID or by directed route, as a program sends it.
func sensible(attribute uint16, lid, number int) []byte {
	b := make([]byte, 288)
	binary.BigEndian.PutUint64(b[24:], 256)
	m := b[32:]
	m[0], m[1], m[2], m[3] = 1, 1, 1, 1
	binary.BigEndian.PutUint16(b, uint16(lid))
	if number%2 == 0 {
		m[1], m[7], m[129], m[130] = 0x81, byte(number/2%4), 1, byte(1+number/8%3)
		binary.BigEndian.PutUint32(m[32:], 0xffffffff)
		binary.BigEndian.PutUint16(b, 0xffff)
	} else if number%7 == 0 {
		m[1] = 4
		m[65] = byte(1 + number%3)
		binary.BigEndian.PutUint32(b[8:], 1)
	}
	binary.BigEndian.PutUint64(m[8:], uint64(number))
	binary.BigEndian.PutUint16(m[16:], attribute)
	return b
}

// order is what a program says to the socket of all.
func order(client, kind uint32, data []byte) []byte {
	b := make([]byte, 80)
	for i, v := range []uint32{0xdeadbeef, client, kind, uint32(len(data))} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	copy(b[16:], data)
	return b
}

// rough is a program that does not read what it is told.
type rough struct {
	*managed
	node        string
	ctl, data   *net.UnixConn
	orders, out *net.UnixAddr
}

// connect connects this process as a program.
func (m *managed) connect(node string) *rough {
	m.Helper()
	listen := func(kind string) *net.UnixConn {
		c, err := net.ListenUnixgram("unixgram", abstract(fmt.Sprintf("%s:%s%d", m.name, kind, os.Getpid())))
		require.NoError(m.T, err)
		m.Cleanup(func() { _ = c.Close() })
		return c
	}
	r := &rough{managed: m, node: node, ctl: listen("ctl"), data: listen("in"), orders: abstract(m.name + ":ctl")}
	r.connect()
	return r
}

// connect asks to be a client until it is told that it is one: what it is told is lost while it has
// not read answers to what it has asked before.
func (r *rough) connect() {
	r.Helper()
	info := make([]byte, 44)
	binary.LittleEndian.PutUint32(info, uint32(os.Getpid()))
	copy(info[12:], r.node)
	answer := make([]byte, 80)
	rig.Until(r.T, func() bool {
		require.True(r.T, r.say(r.ctl, r.orders, order(0, 1, info)))
		require.NoError(r.T, r.ctl.SetReadDeadline(time.Now().Add(time.Second)))
		for {
			if _, err := r.ctl.Read(answer); err != nil {
				require.ErrorIs(r.T, err, os.ErrDeadlineExceeded)
				return false
			}
			if binary.LittleEndian.Uint32(answer[8:]) == 1 {
				return true
			}
		}
	}, "it is no client")
	r.out = abstract(fmt.Sprintf("%s:out%d", r.name, binary.LittleEndian.Uint32(answer[16:])))
}

// A program is connected although the socket of the first free number is still open, as one that was
// just closed is in a process that is being started.
func TestASocketThatIsNotGoneKeepsNoProgramOut(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "ring:4")
	held, err := net.ListenUnixgram("unixgram", abstract(m.name+":out0"))
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	require.Equal(t, abstract(m.name+":out1"), m.connect("n2").out)
}

func abstract(name string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: "@" + name + "\x00"}
}

// say reports whether there is anybody to hear it.
func (r *rough) say(c *net.UnixConn, to *net.UnixAddr, b []byte) bool {
	r.Helper()
	_, err := c.WriteToUnix(b, to)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	require.NoError(r.T, err)
	return true
}
