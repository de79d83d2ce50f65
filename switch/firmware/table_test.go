package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// leafOf22 is leaf <0,1> of the 2-ary 2-tree, switch 2, with tables that send packets for NIC 2 out
// as given, from every arrival.
func leafOf22(t *testing.T, out tables.Hop, sequence []weft.PortID) (*switching.Still, *tables.Tables) {
	place := placeOf(2, 2, 1, 0)
	place.Switch = 2
	lft, err := tables.NewTables(2, 4, []int{2, 2, 4, 4})
	require.NoError(t, err)
	row, err := lft.AddRow(2, []tables.Hop{out})
	require.NoError(t, err)
	require.NoError(t, lft.Set(2, 2, row))
	require.NoError(t, lft.SetSequence(2, sequence))
	return &switching.Still{At: place}, lft
}

func TestUTurnByTableSkipsDeadPortsAlongTheSequence(t *testing.T) {
	sw, tables := leafOf22(t, tables.Hop{Port: 3, VC: rerouteLayer}, []weft.PortID{3, 2}) // D begins with p3
	fw := DeterministicTable{Tables: tables}.Firmware()
	pkt := weft.Header{Dst: 2, Fields: weft.NewFields()}
	at := Arrival{Port: 2, VC: normalLayer, From: weft.RoleUp}
	d := fw.Route(&pkt, at, sw)
	require.Equal(t, []Candidate{{Port: 3, VC: rerouteLayer, Fields: pkt.Fields}}, d.Candidates)
	require.Equal(t, rule3a, d.Rule)
	sw.Dead.Add(3) // what is left of D is the port of arrival
	require.Equal(t, Decision{Rule: rule4, Notify: true}, fw.Route(&pkt, at, sw))
}

func TestATableWithoutAnEntryDiscards(t *testing.T) {
	sw, tables := leafOf22(t, tables.Hop{Port: weft.NoPort}, nil)
	for dst, rule := range map[weft.NICID]string{2: ruleNoEntry, 3: ruleNoEntry, 1000: ruleNoEntry} {
		byTable, static := DeterministicTable{Tables: tables}.Firmware(), Static{Tables: tables}.Firmware()
		for _, fw := range []Firmware{byTable, static} {
			d := fw.Route(&weft.Header{Dst: dst}, Arrival{Port: 0, From: weft.RoleNIC}, sw)
			require.Equal(t, switching.Discard(rule), d, "to %d", dst)
		}
	}
}

func TestStaticForwardsByItsTableOnly(t *testing.T) {
	sw, tables := leafOf22(t, tables.Hop{Port: 2, VC: 1}, nil)
	fw := Static{Tables: tables}.Firmware()
	pkt := weft.Header{Dst: 2, Fields: weft.NewFields()}
	at := Arrival{Port: 0, From: weft.RoleNIC}
	require.Equal(t, switching.To(sw, 2, 1, pkt.Fields, ruleTable), fw.Route(&pkt, at, sw))
	sw.Dead.Add(2)
	require.Equal(t, switching.Discard(ruleTableDead), fw.Route(&pkt, at, sw))
	require.NoError(t, fw.Check(sw.At, 2))
	require.ErrorContains(t, fw.Check(sw.At, 1), "needs 2 virtual channels, there are 1")
}

func TestTheTableDrivenSwitchRoutesWithoutAllocating(t *testing.T) {
	sw, tables := leafOf22(t, tables.Hop{Port: 3, VC: rerouteLayer}, []weft.PortID{2, 3})
	var fw Firmware = DeterministicTable{Tables: tables}.Firmware()
	pkt := weft.Header{Dst: 2}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for p, role := range sw.At.Roles {
			fw.Route(&pkt, Arrival{Port: weft.PortID(p), From: role}, sw)
		}
	}))
}
