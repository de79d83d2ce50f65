package switching

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// passing is the cheapest firmware: port dst, in the VC the packet came in, or any port for
// destinations beyond them.
func passing(pkt *weft.Header, at Arrival, sw View) Decision {
	if int(pkt.Dst) < sw.Place().Ports() {
		return To(sw, weft.PortID(pkt.Dst), at.VC, pkt.Fields, "pass")
	}
	d := Decision{Candidates: sw.Scratch(), Rule: "any"}
	for p := range weft.PortID(4) {
		d.Candidates = append(d.Candidates, Candidate{Port: p, VC: at.VC})
	}
	return d
}

// stream feeds frames of batch packets to one switch, port by port and VC by VC, and takes them
// from the next port. It plays the neighbours by their counters alone, so that almost all the time
// is the core's.
type stream struct {
	sw       *Switch
	now      weft.Time
	out      weft.Actions
	in, sent weft.Frame
	mine     []weft.Epoch          // the switch's, per port
	came     [][weft.MaxVCs]uint64 // per port, packets sent to the switch
	went     [][weft.MaxVCs]uint64 // per port, packets taken from the switch
	next     int                   // the (port, VC) whose turn it is
}

func newStream(t testing.TB, ports, vcs, batch int) *stream {
	roles := make([]weft.Role, ports)
	for p := range roles {
		roles[p] = weft.RolePeer
	}
	sw, err := New(Config{
		Place: &weft.Place{Roles: roles}, Firmware: Firmware{Name: "passing", Route: passing}, Rand: rand.NewPCG(1, 2),
		VCs: vcs, InputBuffer: max(2, batch), OutputBuffer: max(2, batch),
	})
	require.NoError(t, err)
	s := &stream{
		sw: sw, mine: make([]weft.Epoch, ports), came: make([][weft.MaxVCs]uint64, ports),
		went: make([][weft.MaxVCs]uint64, ports),
	}
	s.out.Reset()
	for p := range weft.PortID(ports) {
		sw.Signal(0, p, true, &s.out)
		s.mine[p], _ = sw.ports[p].end.Epochs()
		s.frame(p)
		sw.Receive(0, p, &s.in, &s.out)
		sw.Transmit(0, p, batch, &s.sent, &s.out)
	}
	s.in.Packets = make([]weft.Header, batch)
	return s
}

// frame makes the epochs and counters of the neighbour's next frame at p.
func (s *stream) frame(p weft.PortID) {
	s.in.From, s.in.To, s.in.VCs = 1, s.mine[p], s.sw.cfg.VCs
	s.in.Sent = s.came[p]
	for vc := range s.in.VCs {
		s.in.Limit[vc] = s.went[p][vc] + weft.MaxBuffer
	}
}

// hop takes one frame of packets through the switch and returns how many came out.
func (s *stream) hop() int {
	ports, vcs := len(s.mine), s.sw.cfg.VCs
	in, vc := weft.PortID(s.next/vcs), weft.VC(s.next%vcs)
	out := weft.PortID((int(in) + 1) % ports)
	if s.next++; s.next == ports*vcs {
		s.next = 0
	}
	s.now++
	s.out.Reset()
	s.frame(in)
	for i := range s.in.Packets {
		s.in.Packets[i] = weft.Header{Src: weft.NICID(i), Dst: weft.NICID(out), VC: vc}
	}
	s.sw.Receive(s.now, in, &s.in, &s.out)
	s.came[in][vc] += uint64(len(s.in.Packets))
	n := 0
	for s.sw.Transmit(s.now, out, len(s.in.Packets), &s.sent, &s.out) {
		n += len(s.sent.Packets)
	}
	s.went[out][vc] += uint64(n)
	return n
}

func TestAPacketHopAllocatesNothing(t *testing.T) {
	for _, batch := range []int{1, 16} {
		s := newStream(t, 8, 2, batch)
		for range 100 {
			require.Equal(t, batch, s.hop())
		}
		require.Zero(t, testing.AllocsPerRun(1000, func() { s.hop() }), "frames of %d", batch)
	}
}

// Blocked packets, the ways they wait for and the credits they wait for cost nothing either.
func TestABlockedPacketAllocatesNothing(t *testing.T) {
	s := newStream(t, 4, 1, 2)
	var f weft.Frame
	round := func() { // four ports send twice as much as output buffers hold, to any port; then all is taken
		s.now++
		s.out.Reset()
		for range 2 {
			for p := range weft.PortID(4) {
				s.frame(p)
				for i := range s.in.Packets {
					s.in.Packets[i] = weft.Header{Src: weft.NICID(i), Dst: 99}
				}
				s.sw.Receive(s.now, p, &s.in, &s.out)
				s.came[p][0] += 2
			}
		}
		for s.sw.Held() > 0 {
			for p := range weft.PortID(4) {
				for s.sw.Transmit(s.now, p, 2, &f, &s.out) {
					s.went[p][0] += uint64(len(f.Packets))
				}
			}
		}
	}
	round()
	require.Positive(t, s.sw.stallsAt(0)[StallOutputFull])
	require.Empty(t, s.out.Faults)
	require.Zero(t, testing.AllocsPerRun(100, round))
}

func BenchmarkSwitchHop(b *testing.B) {
	for _, size := range [][2]int{{8, 1}, {36, 2}} {
		for _, batch := range []int{1, 16} {
			b.Run(fmt.Sprintf("ports=%d/vcs=%d/batch=%d", size[0], size[1], batch), func(b *testing.B) {
				s := newStream(b, size[0], size[1], batch)
				b.ReportAllocs()
				hops := 0
				for b.Loop() {
					hops += s.hop()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(hops), "ns/hop")
				b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "hops/s")
			})
		}
	}
}
