package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// A ring of four, port 1 of each leading to port 0 of the next. Each switch has a packet from the
// one before that waits for port 1, which is full and without a credit.
func waitingRing(t *testing.T) (*reader, []switching.Snapshot) {
	t.Helper()
	g := topologytest.Parse(t, "ring:4")
	snaps := make([]switching.Snapshot, 4)
	for i := range snaps {
		ports := make([]switching.PortSnapshot, g.Switches[i].Ports)
		for p := range ports {
			ports[p] = switching.PortSnapshot{State: linkend.Up, VCs: []switching.VCSnapshot{{Credits: 1}}}
		}
		ports[1].VCs[0] = switching.VCSnapshot{Output: 1}
		snaps[i] = switching.Snapshot{
			Switch: weft.SwitchID(i), Ports: ports,
			Blocked: []switching.Blocked{{For: []switching.Output{{Port: 1}}}},
		}
	}
	return &reader{site: &site{opts: &Options{}, lifetime: &lifetime{}, nodes: &nodes{graph: g}}}, snaps
}

// strand cuts the link from s0 to s1 off and strands the packet queued for it. It waits for to.
func strand(snaps []switching.Snapshot, to ...switching.Output) {
	snaps[0].Ports[1].State, snaps[1].Ports[0].State = linkend.Init, linkend.Init
	snaps[0].Blocked = append(snaps[0].Blocked,
		switching.Blocked{Stranded: true, In: 2, At: switching.Output{Port: 1}, For: to})
}

func TestADeadlockIsFoundInSnapshots(t *testing.T) {
	f, snaps := waitingRing(t)
	require.Len(t, f.deadlockIn(snaps), 4)
	snaps[2].Ports[1].VCs[0].Credits = 1
	require.Empty(t, f.deadlockIn(snaps))
}

// A stranded packet came by port 0 once, but it is no longer what the neighbour there waits for.
func TestAStrandedPacketIsNotInTheInputQueueItCameBy(t *testing.T) {
	f, snaps := waitingRing(t)
	snaps[0].Blocked = append(snaps[0].Blocked, switching.Blocked{
		Stranded: true, In: 0, At: switching.Output{Port: 0}, For: []switching.Output{{Port: 2}}, // which has room
	})
	require.Len(t, f.deadlockIn(snaps), 4)
}

func TestADeadLinkIsNoPartOfADeadlockUnlessWhatIsStrandedThereIs(t *testing.T) {
	up := switching.Output{Port: 1}
	for claim, to := range map[string][]switching.Output{
		"it can go elsewhere":                     {{Port: 0}},
		"it waits for the link to come back":      {up},
		"it may go elsewhere, or by the same way": {{Port: 0}, up},
	} {
		t.Run(claim, func(t *testing.T) {
			f, snaps := waitingRing(t)
			strand(snaps, to...)
			require.Empty(t, f.deadlockIn(snaps))
		})
	}

	// It waits for port 0, which is full of what waits for what waits for the dead link: a packet
	// of its flow is behind it.
	f, snaps := waitingRing(t)
	strand(snaps, switching.Output{Port: 0})
	snaps[0].Ports[0].VCs[0] = switching.VCSnapshot{Output: 1} // to s3
	snaps[3].Blocked = append(snaps[3].Blocked, switching.Blocked{In: 1, For: []switching.Output{{Port: 1}}})
	cycle := f.deadlockIn(snaps)
	require.NotEmpty(t, cycle)
	require.Contains(t, Cycle(cycle).String(), "s0 -> s3 vc0", "the cycle goes by what the stranded packet waits for")
}

func TestOneLookAtAFabricThatMovesProvesNoDeadlock(t *testing.T) {
	found := Cycle{{Switch: "a"}, {Switch: "b"}}
	var w DeadlockWatch
	w.look(found, []uint64{7, 8})
	require.Empty(t, w.sure)
	w.look(found, []uint64{7, 9})
	require.Empty(t, w.sure, "one of them has sent a packet since")
	w.look(found, []uint64{7, 9})
	require.Equal(t, found, w.sure)
	w.look(Cycle{{Switch: "b"}, {Switch: "c"}}, []uint64{7, 9})
	require.Empty(t, w.sure)
	w.look(nil, nil)
	w.look(nil, nil)
	require.Empty(t, w.sure)
}
