package fabric_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// A link that goes silent without an order of ours, as when what carries it is held up, is reported
// as a fault of its own.
func TestASilenceThatNoFaultExplainsIsReportedWithWhatItCost(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	defer m.Close()
	l := startTaped(t, m, firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
	l.flows(300)
	links := l.LinkStates()
	var silent fabric.LinkState
	for _, s := range links {
		if s.Link == "s0.00-s1.00" {
			silent = s
		}
	}
	d := wire.Direction{
		From: silent.A, FromPort: weft.PortID(silent.APort), To: silent.B,
		ToPort: weft.PortID(silent.BPort),
	}
	require.NoError(t, m.Cut(d, d.Reverse())) // behind the fabric's back
	l.until("both ends find out", func() bool { return len(l.LinksDown()) == 1 })
	l.flows(300)
	l.until("it is reported", func() bool { return len(l.Faults()) == 1 })
	require.NoError(t, m.Restore(d, d.Reverse()))
	l.until("the link is back", func() bool { return len(l.LinksDown()) == 0 })
	r := l.judge(l.sound())[0]
	assert.Len(t, registerText(l, fabric.KindSilence), 1)
	assert.Equal(t, fabric.KindSilence, r.Kind)
	assert.Equal(t, "s0.00-s1.00", r.Target)
	assert.Contains(t, r.What, "silence on s0.00-s1.00 that no fault explains")
	assert.Contains(t, r.Note, "heard nothing for 150ms")
	require.NotEmpty(t, r.Detected)
	assert.Equal(t, fault.BySilence, r.Detected[0].How)
	assert.Positive(t, r.Lost(), "what was sent before anybody noticed")
}

// What a silence has cost is on its report, also when its link is cut before that is opened.
func TestASilenceOnALinkThatIsCutNextIsReportedWithWhatItCost(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	defer m.Close()
	l := startTaped(t, m, firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
	l.flows(300)
	d := wire.Direction{From: "s0.00", To: "s1.00"}
	for _, s := range l.LinkStates() {
		if s.Link == "s0.00-s1.00" {
			d = wire.Direction{From: s.A, FromPort: weft.PortID(s.APort), To: s.B, ToPort: weft.PortID(s.BPort)}
		}
	}
	require.NoError(t, m.Cut(d, d.Reverse())) // behind the fabric's back
	l.until("both ends find out", func() bool { return len(l.LinksDown()) == 1 })
	l.apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"})
	l.until("it is reported", func() bool { return len(l.Faults()) == 2 })
	require.NoError(t, m.Restore(d, d.Reverse()))
	_, err := l.Heal(t.Context())
	require.NoError(t, err)
	l.until("the link is back", func() bool { return len(l.LinksDown()) == 0 })
	list := l.judge(l.sound())
	silence := slices.IndexFunc(list, func(r fault.Report) bool { return r.Kind == fabric.KindSilence })
	require.Positive(t, list[silence].Lost(), "what was sent before anybody noticed")
}

func TestASilenceThatAFaultExplainsIsNoFaultOfItsOwn(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	defer m.Close()
	l := startTaped(t, m, firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
	l.apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", Silent: true})
	l.until("both ends find out", func() bool { return len(l.LinksDown()) == 1 && len(l.Faults()[0].Detected) == 2 })
	l.flows(2000)
	_, err := l.Heal(t.Context())
	require.NoError(t, err)
	require.Len(t, l.judge(l.sound()), 1)
}

// Whoever takes signal away, it is not the impairment that acts on the same link.
func TestAnImpairmentIsNotWhatTookSignalAway(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	defer m.Close()
	l := startTaped(t, m, firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware(), nil)
	out := l.apply(
		fault.Spec{
			Do: fault.VerbImpair, A: "s0.00-s1.00",
			Impair: &fault.Impair{Delay: new(fault.Duration(time.Millisecond))},
		},
		fault.Spec{Do: fault.VerbCrash, A: "s1.00"},
	)
	assert.Empty(t, out[0].Fault.Detected)
	assert.NotEmpty(t, out[1].Fault.Detected)
}
