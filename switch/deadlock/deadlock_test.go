package deadlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/deadlock"
	"github.com/weft-fabric/weft/switch/link"
)

const buffer = 2 // packets

// ring is n switches, port 1 of each leading to port 0 of the next; a NIC is at port 2. Each switch
// has packets from the one before that wait for port 1, which is full and without a credit.
func ring(n int) deadlock.Question {
	snaps := make([]switching.Snapshot, n)
	for i := range snaps {
		ports := make([]switching.PortSnapshot, 3)
		for p := range ports {
			ports[p] = switching.PortSnapshot{State: link.Up, VCs: []switching.VCSnapshot{{Credits: 1}, {Credits: 1}}}
		}
		ports[0].VCs[1].Epoch.Held = buffer
		ports[1].VCs[1] = switching.VCSnapshot{Output: 1}
		snaps[i] = switching.Snapshot{
			Switch: weft.SwitchID(i), Ports: ports,
			Blocked: []switching.Blocked{{In: 0, InVC: 1, For: []switching.Output{{Port: 1, VC: 1}}}},
		}
	}
	peer := func(e weft.End) (weft.End, bool) {
		next := e.Node.Index + 1
		other := weft.PortID(0)
		switch e.Port {
		case 0:
			next, other = e.Node.Index+uint32(n)-1, 1
		case 2:
			return weft.End{Node: weft.NICID(e.Node.Index).Node()}, true
		}
		return weft.End{Node: weft.SwitchID(next % uint32(n)).Node(), Port: other}, true
	}
	return deadlock.Question{Switches: snaps, Peer: peer, InputBuffer: buffer}
}

func TestARingOfPacketsThatWaitForEachOtherIsNamed(t *testing.T) {
	t.Parallel()
	q := ring(3)
	want := []deadlock.Output{{Switch: 0, Port: 1, VC: 1}, {Switch: 1, Port: 1, VC: 1}, {Switch: 2, Port: 1, VC: 1}}
	for range 10 { // whatever order a map might have
		require.Equal(t, want, deadlock.Find(q))
	}
	q.InputBuffer = 0
	require.Equal(t, want, deadlock.Find(q), "nothing moves, so no credit is on the way")
}

func TestOnePacketThatCanGoFreesAllThatWaitForIt(t *testing.T) {
	t.Parallel()
	for claim, change := range map[string]func(q *deadlock.Question){
		"a credit":            func(q *deadlock.Question) { q.Switches[2].Ports[1].VCs[1].Credits = 1 },
		"a credit on the way": func(q *deadlock.Question) { q.Switches[0].Ports[0].VCs[1].Epoch.Held = buffer - 1 },
		"room":                func(q *deadlock.Question) { q.Switches[1].Ports[1].VCs[1].Output = 0 },
		"a second way that is free": func(q *deadlock.Question) {
			b := &q.Switches[1].Blocked[0]
			b.For = append(b.For, switching.Output{Port: 1})
		},
		"a packet for a NIC beside it": func(q *deadlock.Question) {
			q.Switches[1].Ports[2].VCs[1] = switching.VCSnapshot{Output: 1} // it takes all that comes
			q.Switches[1].Blocked = append(q.Switches[1].Blocked, switching.Blocked{In: 0, InVC: 1, For: []switching.Output{{Port: 2, VC: 1}}})
		},
	} {
		q := ring(4)
		change(&q)
		require.Empty(t, deadlock.Find(q), claim)
	}
}

func TestPacketsThatWaitForADeadlockAreNoPartOfItsCycle(t *testing.T) {
	t.Parallel()
	q := ring(4)
	q.Switches[0].Blocked = append(q.Switches[0].Blocked, switching.Blocked{In: 2, For: []switching.Output{{Port: 1, VC: 1}}})
	require.Len(t, deadlock.Find(q), 4)
	q.Switches[3].Blocked = nil // the ring is open, and what waited for it is free
	require.Empty(t, deadlock.Find(q))
}

// Of a switch in another process there may be nothing to see yet.
func TestASwitchOfWhichNothingIsKnownIsInNoDeadlock(t *testing.T) {
	t.Parallel()
	for _, moves := range []int{0, buffer} {
		for unknown := range weft.SwitchID(3) {
			q := ring(3)
			q.InputBuffer = moves
			q.Switches[unknown] = switching.Snapshot{Switch: unknown}
			require.NotPanics(t, func() { require.Empty(t, deadlock.Find(q)) })
		}
	}
}
