package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

const buffer = 2 // packets

// waitingRing is n switches, port 1 of each leading to port 0 of the next; a NIC is at port 2. Each
// switch has packets from the one before that wait for port 1, which is full and without a credit.
func waitingRing(n int) DeadlockQuery {
	snaps := make([]Snapshot, n)
	for i := range snaps {
		ports := make([]PortSnapshot, 3)
		for p := range ports {
			ports[p] = PortSnapshot{State: link.Up, VCs: []VCSnapshot{{Credits: 1}, {Credits: 1}}}
		}
		ports[0].VCs[1].Epoch.Held = buffer
		ports[1].VCs[1] = VCSnapshot{Output: 1}
		snaps[i] = Snapshot{
			Switch: weft.SwitchID(i), Ports: ports,
			Blocked: []Blocked{{In: 0, InVC: 1, For: []Output{{Port: 1, VC: 1}}}},
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
	return DeadlockQuery{Switches: snaps, Peer: peer, InputBuffer: buffer}
}

func TestARingOfPacketsThatWaitForEachOtherIsNamed(t *testing.T) {
	t.Parallel()
	q := waitingRing(3)
	want := []Channel{{Switch: 0, Port: 1, VC: 1}, {Switch: 1, Port: 1, VC: 1}, {Switch: 2, Port: 1, VC: 1}}
	for range 10 { // whatever order a map might have
		require.Equal(t, want, FindDeadlock(q))
	}
	q.InputBuffer = 0
	require.Equal(t, want, FindDeadlock(q), "nothing moves, so no credit is on the way")
}

func TestOnePacketThatCanGoFreesAllThatWaitForIt(t *testing.T) {
	t.Parallel()
	for claim, change := range map[string]func(q *DeadlockQuery){
		"a credit":            func(q *DeadlockQuery) { q.Switches[2].Ports[1].VCs[1].Credits = 1 },
		"a credit on the way": func(q *DeadlockQuery) { q.Switches[0].Ports[0].VCs[1].Epoch.Held = buffer - 1 },
		"room":                func(q *DeadlockQuery) { q.Switches[1].Ports[1].VCs[1].Output = 0 },
		"a second way that is free": func(q *DeadlockQuery) {
			b := &q.Switches[1].Blocked[0]
			b.For = append(b.For, Output{Port: 1})
		},
		"a packet for a NIC beside it": func(q *DeadlockQuery) {
			q.Switches[1].Ports[2].VCs[1] = VCSnapshot{Output: 1} // it takes all that comes
			q.Switches[1].Blocked = append(q.Switches[1].Blocked, Blocked{In: 0, InVC: 1, For: []Output{{Port: 2, VC: 1}}})
		},
	} {
		q := waitingRing(4)
		change(&q)
		require.Empty(t, FindDeadlock(q), claim)
	}
}

func TestPacketsThatWaitForADeadlockAreNoPartOfItsCycle(t *testing.T) {
	t.Parallel()
	q := waitingRing(4)
	q.Switches[0].Blocked = append(q.Switches[0].Blocked, Blocked{In: 2, For: []Output{{Port: 1, VC: 1}}})
	require.Len(t, FindDeadlock(q), 4)
	q.Switches[3].Blocked = nil // the ring is open, and what waited for it is free
	require.Empty(t, FindDeadlock(q))
}

// Of a switch in another process there may be nothing to see yet.
func TestASwitchOfWhichNothingIsKnownIsInNoDeadlock(t *testing.T) {
	t.Parallel()
	for _, moves := range []int{0, buffer} {
		for unknown := range weft.SwitchID(3) {
			q := waitingRing(3)
			q.InputBuffer = moves
			q.Switches[unknown] = Snapshot{Switch: unknown}
			require.NotPanics(t, func() { require.Empty(t, FindDeadlock(q)) })
		}
	}
}
