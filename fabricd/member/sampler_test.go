package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestWhoWatchesSeesASwitchThatIsAProcessAndIsNotHeldUpByOneThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := start(t, true)
	const name = "s1.00"
	s := l.Fabric.NewSampler()
	id := int(must(l.Fabric.Topology().SwitchByName(name)))
	p := l.startSwitch(name)
	l.Load("uniform:0.05")
	l.crosses(name, 200)
	l.settle()
	ledger := l.Fabric.Ledger() // asks the process
	ledger.LostOn = nil
	r := s.Read()
	require.Equal(t, ledger, r.Ledger)
	require.Equal(t, fabric.SwitchUp, r.Switches[id].State)
	sn := l.Fabric.Switch(weft.SwitchID(id))
	require.Equal(t, sn.Stats, s.Stats(id))
	for i, k := range l.Fabric.LinkStates() {
		require.Equal(t, [2]uint64{k.SentAB, k.SentBA}, r.Links[i].Sent, k.Link)
	}

	after := l.last()
	p.Signal(rig.Freeze)
	l.event(after, fabric.EventProcessSuspect)
	took := rig.Fastest(func() { r = s.Read() })
	require.Less(t, took, 400*time.Millisecond, "less than a process is given to answer")
	require.Equal(t, fabric.SwitchSuspect, r.Switches[id].State)
	require.Equal(t, sn.Stats, s.Stats(id), "what it last said holds")
	after = l.last()
	p.Signal(rig.Thaw)
	l.event(after, fabric.EventProcessBack)
	require.Equal(t, fabric.SwitchUp, s.Read().Switches[id].State)
	after = l.last()
	p.Kill()
	l.event(after, fabric.EventProcessFailed)
	require.Equal(t, fabric.SwitchDown, s.Read().Switches[id].State)
}
