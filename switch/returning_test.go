package switching

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// at is what is at the other end of a link of a switch that returns.
type at byte

const (
	speaks  at = 's' // a neighbour that sees the switch at some moment, and answers
	silent  at = 'c' // the link is cut, and nobody was told
	unlit   at = 'd' // it is dead, and that is known
	returns at = 'r' // a neighbour that returns too, and has not heard of all its own yet
)

// comeback is a switch that was crashed and has signal again, its neighbours, and what is on the
// wires. Events are named by a port and what happens there: l, the neighbour gets signal; i, a
// frame comes in; o, one comes to the neighbour.
type comeback struct {
	*rig
	around string // of at, per port
	lit    []bool
	in     [][]weft.Frame // per port, to the switch
	to     [][]weft.Frame // per port, to the neighbour
	log    []string
}

func newComeback(t *testing.T, around string) *comeback {
	c := &comeback{rig: newRig(t, len(around), Config{VCs: 1, Liveness: link.Liveness{
		Interval:   weft.Millisecond,
		Multiplier: 3,
	}}), around: around}
	c.lit, c.in, c.to = make([]bool, len(around)), make([][]weft.Frame, len(around)), make([][]weft.Frame, len(around))
	c.call(func() { c.Crash(c.now, &c.out) })
	for p := range c.neighbour {
		c.neighbour[p].Signal(c.now, false)
		if at(around[p]) == returns {
			c.neighbour[p].Hold()
		}
	}
	c.call(func() {
		for p := range c.neighbour {
			c.Signal(c.now, weft.PortID(p), at(around[p]) != unlit, &c.out)
		}
	})
	c.flush()
	return c
}

// flush puts on the wires what is owed.
func (c *comeback) flush() {
	for p := range c.neighbour {
		var f weft.Frame
		for c.Transmit(c.now, weft.PortID(p), weft.MaxBatch, &f, &c.out) {
			if c.lit[p] { // else nobody is there to see it
				c.to[p] = append(c.to[p], f)
			}
			f = weft.Frame{}
		}
		for n := c.neighbour[p]; c.lit[p] && n.Owes(); {
			n.Stamp(c.now, &f)
			c.in[p] = append(c.in[p], f)
			f = weft.Frame{}
		}
	}
}

// can lists the events that can happen.
func (c *comeback) can() (list []string) {
	for p := range c.neighbour {
		if !c.lit[p] && strings.ContainsRune("sr", rune(c.around[p])) {
			list = append(list, fmt.Sprint(p, "l"))
		}
		if len(c.in[p]) > 0 {
			list = append(list, fmt.Sprint(p, "i"))
		}
		if len(c.to[p]) > 0 {
			list = append(list, fmt.Sprint(p, "o"))
		}
	}
	return list
}

func (c *comeback) do(event string) {
	c.log = append(c.log, event)
	p := weft.PortID(event[0] - '0')
	switch event[1] {
	case 'l':
		c.lit[p] = true
		c.neighbour[p].Signal(c.now, true)
	case 'i':
		f := c.in[p][0]
		c.in[p] = c.in[p][1:]
		c.call(func() { c.Receive(c.now, p, &f, &c.out) })
	case 'o':
		f := c.to[p][0]
		c.to[p] = c.to[p][1:]
		_, err := c.neighbour[p].Receive(c.now, &f)
		require.NoError(c.t, err)
	}
	c.flush()
	c.check()
}

// check says what must hold at every moment: a neighbour that can send finds the ways to all others
// that answer.
func (c *comeback) check() {
	c.t.Helper()
	seen := slices.ContainsFunc(c.neighbour, func(n *link.End) bool { return n.State() == link.Up })
	for p := range c.neighbour {
		if seen && at(c.around[p]) == speaks {
			require.True(c.t, c.portUp(weft.PortID(p)), "%s: a neighbour sees the switch, which has no way by port %d, after %v",
				c.around, p, c.log)
			require.Positive(c.t, c.ports[p].end.Credits(0), "%s: port %d is up, and nothing may be sent by it, after %v",
				c.around, p, c.log)
		}
	}
}

// state is all that has a say in what comes next.
func (c *comeback) state() string {
	var b strings.Builder
	for p := range c.neighbour {
		end, n := &c.ports[p].end, c.neighbour[p]
		fmt.Fprintf(&b, "%v %v %v %v|", end.Flow(), end.Answered(), n.Flow(), c.lit[p])
		for _, f := range append(slices.Clone(c.in[p]), c.to[p]...) {
			fmt.Fprintf(&b, "%v %v %v,", f.From, f.To, f.Sent[0])
		}
		fmt.Fprint(&b, len(c.in[p]), ";")
	}
	return b.String()
}

// explored is what explore drives from state to state.
type explored interface {
	can() []string
	do(event string)
	state() string
}

// explore visits every state that there is, and calls end in those in which nothing can happen any
// more.
func explore[T explored](t *testing.T, begin func() T, end func(c T)) (states int) {
	t.Helper()
	seen := map[string]bool{}
	todo := [][]string{nil}
	for len(todo) > 0 {
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c := begin()
		for _, e := range path {
			c.do(e)
		}
		if s := c.state(); seen[s] {
			continue
		} else {
			seen[s] = true
		}
		list := c.can()
		if len(list) == 0 {
			end(c)
		}
		for _, e := range list {
			todo = append(todo, append(slices.Clone(path), e))
		}
	}
	return len(seen)
}

// A switch with three neighbours returns while each of them sees it, and hears it, at any moment.
func TestASwitchReturnsWholeInWhateverOrderItsNeighboursSeeIt(t *testing.T) {
	t.Parallel()
	for _, around := range []string{"s", "ss", "sss", "ssss", "ssd", "sdd", "ssr", "srr", "sscs", "sscd"} {
		t.Run(around, func(t *testing.T) {
			t.Parallel()
			states := explore(t, func() *comeback { return newComeback(t, around) }, func(c *comeback) {
				if strings.Contains(around, "c") { // nobody says that this one does not answer
					require.Empty(t, c.open(), "it waits: after %v", c.log)
					require.LessOrEqual(t, c.out.WakeAt, c.now+ReturnWait)
					for until := c.returning.until; c.now < until; {
						c.now = min(c.look, until)
						c.call(func() { c.Tick(c.now, &c.out) })
						c.flush()
					}
					for list := c.can(); len(list) > 0; list = c.can() {
						c.do(list[0])
					}
				}
				for p := range c.neighbour {
					up := at(around[p]) == speaks
					require.Equal(t, up, c.portUp(weft.PortID(p)), "port %d after %v", p, c.log)
					require.Equal(t, up, c.neighbour[p].State() == link.Up, "the neighbour at port %d after %v", p, c.log)
				}
			})
			assert.Greater(t, states, 1)
		})
	}
}

// open lists the ports that are up.
func (c *comeback) open() (ports []int) {
	for p := range c.neighbour {
		if c.portUp(weft.PortID(p)) {
			ports = append(ports, p)
		}
	}
	return ports
}

// Two switches that are beside each other return together: neither waits for the other to be whole.
func TestTwoSwitchesThatReturnDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	c := newComeback(t, "r")
	for list := c.can(); len(list) > 0; list = c.can() {
		c.do(list[0])
	}
	require.Empty(t, c.open())
	assert.False(t, c.returning.on, "what it waits for it has heard")
	c.neighbour[0].Open(c.now) // the other has heard of all its neighbours
	c.flush()
	for list := c.can(); len(list) > 0; list = c.can() {
		c.do(list[0])
	}
	assert.Equal(t, []int{0}, c.open())
	assert.Equal(t, link.Up, c.neighbour[0].State())
}

// A frame that was on its way when the switch crashed does not end its waiting.
func TestACrashedSwitchWaitsForSignal(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, Config{})
	var late weft.Frame
	r.neighbour[0].Stamp(r.now, &late)
	r.call(func() { r.Crash(r.now, &r.out) })
	r.call(func() { r.Receive(r.now, 0, &late, &r.out) })
	assert.True(t, r.returning.on)
	assert.Equal(t, weft.Never, r.returning.until)
}

// A switch that begins above the epochs of one before, as a process that takes its place does,
// returns as one that was crashed.
func TestASwitchInThePlaceOfAnotherReturnsWhole(t *testing.T) {
	t.Parallel()
	for epoch, on := range map[weft.Epoch]bool{0: false, 7: true} {
		assert.Equal(t, on, newDarkRig(t, 2, Config{Epoch: epoch}).returning.on)
	}
}
