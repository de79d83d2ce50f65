package switching

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/link"
)

// What is at the other end of a link of a switch that was stopped and goes on.
const (
	unsure  at = 'g' // a neighbour that gives the switch up at some moment before it hears it again, or does not
	stopped at = 'f' // a neighbour that was stopped too
	gone    at = 'd' // a neighbour that died meanwhile, and nobody was told
)

// stop is a switch that was stopped for its detection time and goes on. When it stopped, two ports
// had a packet in the output queue and one that waited for it, and another was on the wire. Time
// does not go on. Events are named by a port and what happens there: T, the switch looks at the
// clock; w, it transmits; i, a frame comes in; o, one comes to the neighbour; x, the neighbour
// gives up; t, the neighbour goes on that was stopped; s, the neighbour sends one more packet.
type stop struct {
	*rig
	around string // of at, per port
	ticked bool
	asleep []bool         // a neighbour that was stopped
	heard  []bool         // by the neighbour: the switch, since it goes on
	more   []bool         // the neighbour may send a packet
	in     [][]weft.Frame // per port, to the switch
	to     [][]weft.Frame // per port, to the neighbour
	sent   int            // packets to the switch
	got    int            // packets by the neighbours
	log    []string
}

func newStop(t *testing.T, around string) *stop {
	n := len(around)
	c := &stop{
		around: around, asleep: make([]bool, n), heard: make([]bool, n), more: make([]bool, n),
		in: make([][]weft.Frame, n), to: make([][]weft.Frame, n),
	}
	fw := &scripted{route: func(pkt *weft.Header, _ Arrival, sw View) Decision {
		if !sw.PortUp(weft.PortID(pkt.Dst)) {
			return Discard("no live port")
		}
		return ways(weft.PortID(pkt.Dst))
	}}
	c.rig = newRig(t, n, Config{
		VCs: 1, InputBuffer: 4, OutputBuffer: 1, Firmware: fw.value(),
		Liveness: link.Liveness{Interval: weft.Millisecond, Multiplier: 3},
	})
	for p := range around {
		for i := 0; i < 2 && p < 2; i++ {
			c.arrive(weft.PortID(p), 0, 90, c.goal(p))
			c.sent++
		}
		if p == 0 {
			c.packet(p)
		}
		c.asleep[p], c.more[p] = at(around[p]) == stopped, true
		if at(around[p]) == gone {
			c.heard[p], c.more[p] = true, false
		}
	}
	require.Len(t, c.blocked(), min(n, 2))
	c.now += 3 * weft.Millisecond
	return c
}

// goal is where packets go that come in by a port.
func (c *stop) goal(p int) weft.NICID { return weft.NICID((p + 1) % len(c.around)) }

// packet puts one on the wire to the switch.
func (c *stop) packet(p int) {
	var f weft.Frame
	c.neighbour[p].Stamp(c.now, &f)
	c.neighbour[p].Spend(0)
	f.Packets = []weft.Header{{Src: 90, Dst: c.goal(p), Seq: 1000, Fields: weft.NewFields()}}
	c.in[p] = append(c.in[p], f)
	c.sent++
}

// can lists the events that can happen.
func (c *stop) can() (list []string) {
	may := func(p int, event string, can bool) {
		if can {
			list = append(list, fmt.Sprint(p, event))
		}
	}
	may(0, "T", !c.ticked)
	for p, n := range c.neighbour {
		alive := at(c.around[p]) != gone
		may(p, "w", c.ports[p].ready && c.fine())
		may(p, "i", len(c.in[p]) > 0)
		may(p, "o", len(c.to[p]) > 0 && !c.asleep[p] && alive)
		may(p, "x", at(c.around[p]) == unsure && !c.heard[p] && n.State() == link.Up)
		may(p, "t", c.asleep[p])
		may(p, "s", c.more[p] && c.fine() && !c.asleep[p] && n.Credits(0) > 0 && !n.Owes())
	}
	return list
}

func (c *stop) do(event string) {
	c.log = append(c.log, event)
	p, n := weft.PortID(event[0]-'0'), c.neighbour[event[0]-'0']
	switch event[1] {
	case 'T':
		c.ticked = true
		c.step(func() { c.Tick(c.now, &c.out) })
	case 'w':
		c.transmit(p)
	case 'i':
		f := c.in[p][0]
		c.in[p] = c.in[p][1:]
		c.step(func() { c.Receive(c.now, p, &f, &c.out) })
	case 'o':
		f := c.to[p][0]
		c.to[p] = c.to[p][1:]
		c.heard[p] = true
		c.hear(n, &f)
	case 'x':
		n.Signal(c.now, false)
		n.Signal(c.now, true)
	case 't':
		c.asleep[p] = false
		n.Resume(c.now)
	case 's':
		c.more[p] = false
		c.packet(int(p))
	}
	for p := range c.neighbour {
		for !c.fine() && c.ports[p].ready {
			c.transmit(weft.PortID(p))
		}
	}
	for p, n := range c.neighbour {
		for !c.asleep[p] && at(c.around[p]) != gone && n.Owes() {
			var f weft.Frame
			n.Stamp(c.now, &f)
			c.in[p] = append(c.in[p], f)
		}
	}
}

// step makes one call of the switch, now.
func (c *stop) step(f func()) {
	c.out.Reset()
	f()
	require.Empty(c.t, c.out.Faults, "after %v", c.log)
	require.Empty(c.t, c.out.Drops, "%s: %v dropped, after %v", c.around, c.out.Drops, c.log)
	require.Empty(c.t, c.out.Changes, "%s: the links of a switch that goes on do not go down, after %v", c.around, c.log)
}

// fine reports whether all events are told apart; with several neighbours, ports transmit at once,
// and no further packets come.
func (c *stop) fine() bool { return len(c.around) == 1 }

func (c *stop) transmit(p weft.PortID) {
	var f weft.Frame
	c.step(func() {
		if c.Transmit(c.now, p, 1, &f, &c.out) {
			c.to[p] = append(c.to[p], f)
		}
	})
}

// hear lets a neighbour take a frame and its packets.
func (c *stop) hear(n *link.End, f *weft.Frame) {
	v, err := n.Receive(c.now, f)
	require.NoError(c.t, err)
	for i := range f.Packets {
		require.True(c.t, v.Accept, "%s: a packet was sent that its neighbour does not take, after %v", c.around, c.log)
		fresh, err := n.Take(0, f.Sent[0]+uint64(i))
		require.NoError(c.t, err)
		require.True(c.t, fresh)
		n.Free(0)
		c.got++
	}
}

// state is all that has a say in what comes next.
func (c *stop) state() string {
	var b strings.Builder
	fmt.Fprint(&b, c.ticked, c.asleep, c.heard, c.more, c.in, c.to, c.got, c.look, c.blocked())
	for p, n := range c.neighbour {
		fmt.Fprint(&b, c.ports[p], *n)
	}
	return past.ReplaceAllString(b.String(), "")
}

// past matches the pointer to what an end counted in epochs that are over.
var past = regexp.MustCompile("0x[0-9a-f]+")

// A switch that was stopped goes on while each of its neighbours gives it up, or hears it, at any
// moment. It finds every link usable, and no packet is lost: neither those it held, nor those that
// were on their way to it, nor those that come.
func TestASwitchThatWasStoppedLosesNothing(t *testing.T) {
	t.Parallel()
	for _, around := range []string{"g", "f", "gd", "fd", "gg", "gf", "ff"}[:testenv.N(7, 2)] {
		t.Run(around, func(t *testing.T) {
			t.Parallel()
			states := explore(t, func() *stop { return newStop(t, around) }, func(c *stop) {
				if !strings.Contains(around, "d") {
					require.Equal(t, c.sent, c.got, "%s: packets that arrived, after %v", around, c.log)
				}
				for p, n := range c.neighbour {
					require.True(t, c.portUp(weft.PortID(p)))
					if at(around[p]) != gone {
						require.Equal(t, link.Up, n.State())
						require.Equal(t, link.Up, c.ports[p].end.State())
					}
				}
			})
			assert.Greater(t, states, 1)
			t.Log(states, "states")
		})
	}
}
