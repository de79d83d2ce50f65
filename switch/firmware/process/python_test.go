package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

const pythonProgram = "../examples/python/fw.py"

// The example in Python decides as deterministic-link does, for every packet that can come, with
// any one or two links of the switch dead.
func TestTheExampleInPythonIsDeterministicLink(t *testing.T) {
	testenv.Need(t, "python3", "python3")
	p := startProgram(t, Config{Path: pythonProgram})
	ours, theirs := p.Firmware, firmware.DeterministicLink()
	g, err := topology.Parse("kary-ntree:3,3")
	require.NoError(t, err)
	for i := range g.Switches {
		place := g.Place(weft.SwitchID(i))
		for a := range place.Ports() {
			for b := range a + 1 {
				view := &switching.Still{At: place, Channels: 2}
				view.Dead.Add(weft.PortID(a))
				view.Dead.Add(weft.PortID(b))
				var asks []*switching.Ask
				for in, role := range place.Roles {
					for vc := range weft.VC(2) {
						for dst := range g.NICs {
							if role == weft.RoleNIC && vc == 1 || vc == 1 && role == weft.RoleDown && place.Tree.Tier == 0 {
								continue // nobody sends that
							}
							h := weft.Header{Dst: weft.NICID(dst), Fields: weft.NewFields()}
							asks = append(asks, &switching.Ask{
								Packet: h, At: switching.Arrival{Port: weft.PortID(in), VC: vc, From: role},
								View: view,
							})
						}
					}
				}
				ours.Batch(asks)()
				for _, k := range asks {
					require.NoError(t, k.Err)
					want := theirs.Route(&k.Packet, k.At, view)
					require.Equal(t, len(want.Candidates), len(k.Decision.Candidates), "%+v", k)
					for i, c := range k.Decision.Candidates {
						require.Equal(t, [2]int{int(want.Candidates[i].Port), int(want.Candidates[i].VC)}, [2]int{int(c.Port), int(c.VC)},
							"%+v", k)
						require.Equal(t, want.Turn, k.Decision.Turn)
					}
				}
			}
		}
	}
}

func BenchmarkPython(b *testing.B) {
	testenv.Need(b, "python3", "python3")
	p := startProgram(b, Config{Path: pythonProgram})
	p.memory = nil
	var dsts []weft.NICID
	for i := range switching.MaxAsks {
		dsts = append(dsts, weft.NICID(i%4))
	}
	k := ask(standing(b), dsts...)
	for b.Loop() {
		p.batch(k)()
	}
	require.NoError(b, k[0].Err)
	b.ReportMetric(float64(b.N*len(k))/b.Elapsed().Seconds(), "decisions/s")
}
