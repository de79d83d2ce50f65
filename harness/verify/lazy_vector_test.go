package verify

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// vectored are the firmwares with vectors that others write.
func vectored() []switching.Firmware {
	return slices.DeleteFunc(firmware.All(), func(fw switching.Firmware) bool { return !fw.Vectors || !fw.Symmetric })
}

// What is found of every pair is what exploring each set finds, where packets of others write
// registers.
func TestVectorsOfOthersAreAsOneByOne(t *testing.T) {
	require.NotEmpty(t, vectored())
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", most: 4},
		{on: "kary-ntree:3,2", most: 3},
		{on: "kary-ntree:2,3", most: 3},
		{on: "kary-ntree:2,3", kind: Any, most: 2},
		{on: "mport-tree:4,2", most: 3},
		{on: "leaf-spine:3,2,2", most: 3},
		{on: "kary-ntree:3,2", most: 5, long: true},
		{on: "kary-ntree:4,2", most: 3, long: true},
		{on: "kary-ntree:2,3", most: 4, long: true},
		{on: "kary-ntree:2,4", most: 2, long: true},
		{on: "kary-ntree:4,2", most: 4, long: true, hours: true},
		{on: "kary-ntree:3,3", most: 2, long: true, hours: true},
		{on: "kary-ntree:3,3", kind: Any, most: 2, long: true, hours: true},
		{on: "mport-tree:4,3", most: 2, long: true},
		{on: "mport-tree:4,3", kind: Any, most: 2, long: true},
	} {
		c.each(t, vectored(), func(t *testing.T, r *run) {
			r.sameBothWays(t)
			if !c.long { // registers that a packet has to itself
				alone := r.Config
				alone.Regs = Alone
				lazyRunOf(t, alone).sameBothWays(t)
			}
		})
	}
}

// So it is where faults come, come and go, or were repaired, while there are fewer than up ports.
// With as many, what others have written may decide, and the sets are left to be explored one by
// one.
func TestVectorsOfOthersWhileFaultsMoveAreAsOneByOne(t *testing.T) {
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", when: Arriving, most: 2},
		{on: "kary-ntree:2,2", when: Flapping, most: 2},
		{on: "kary-ntree:2,2", when: Repaired, most: 3, atOnce: 2},
		{on: "kary-ntree:3,2", when: Arriving, most: 2},
		{on: "kary-ntree:3,2", when: Flapping, most: 2},
		{on: "kary-ntree:3,2", when: Repaired, most: 3, atOnce: 2},
		{on: "kary-ntree:2,3", when: Flapping, kind: Any, most: 1},
		{on: "leaf-spine:3,2,2", when: Flapping, most: 3, atOnce: 2},
		{on: "kary-ntree:2,3", when: Arriving, kind: Any, most: 2, long: true},
		{on: "kary-ntree:2,3", when: Flapping, kind: Any, most: 2, long: true},
		{on: "kary-ntree:2,3", when: Repaired, kind: Any, most: 2, atOnce: 1, long: true},
		{on: "kary-ntree:4,2", when: Flapping, kind: Any, most: 2, long: true},
		{on: "kary-ntree:2,4", when: Flapping, kind: Any, most: 1, long: true},
		{on: "mport-tree:4,3", when: Flapping, kind: Any, most: 1, long: true},
		{on: "kary-ntree:3,3", when: Arriving, most: 2, hours: true},
		{on: "kary-ntree:3,3", when: Flapping, kind: Any, most: 2, hours: true},
	} {
		c.each(t, vectored(), func(t *testing.T, r *run) {
			ups := int(r.Graph.Place(weft.SwitchID(len(r.Graph.Switches) - 1)).Tree.Ups())
			if _, err := r.find(t.Context(), (*lazyWalk).relevant); c.most < ups || !errors.Is(err, errOthers) {
				r.sameBothWays(t)
			}
			alone := r.Config
			alone.Regs = Alone
			lazyRunOf(t, alone).sameBothWays(t)
		})
	}
}

// A switch that flaps forgets which ports a packet has tried: who overlooks that overlooks
// livelocks.
func TestASwitchThatComesBackHasForgottenWhatWasTried(t *testing.T) {
	testenv.Unraced(t)
	r := lazyRunOf(t, Config{
		Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: firmware.AdaptiveLink{}.Firmware(), When: Flapping,
		Regs: Alone, Sets: Sets{Kind: Any, Max: 2},
	})
	want, _ := r.enumerated(t)
	keeps := func(w *lazyWalk, known []fact, to int32) []fact {
		for _, c := range w.classes {
			for _, o := range c.outcomes {
				if o.vector != nil && o.vector.again >= 0 {
					o.vector.again = never // no switch
				}
			}
		}
		return w.relevant(known, to)
	}
	found, err := r.find(t.Context(), keeps)
	require.NoError(t, err)
	assert.NotEqual(t, want, found.pairs)
}

// Bits of a vector are forgotten or come for nothing: both differ from exploring every set.
func TestBitsThatAreForgottenOrFreeInventFailures(t *testing.T) {
	testenv.Unraced(t)
	link := firmware.AdaptiveLink{}.Firmware()
	for name, c := range map[string]struct {
		on     string
		forget forget
	}{
		"a packet forgets which ports it has tried": {
			"kary-ntree:3,2",
			func(w *lazyWalk, known []fact, to int32) []fact {
				return slices.DeleteFunc(w.relevant(known, to), func(is fact) bool { return is >= w.faults.bits() })
			},
		},
		"others have tried all ports, whatever is dead": {
			"kary-ntree:3,2",
			func(w *lazyWalk, known []fact, to int32) []fact {
				for link := range w.faults.links {
					if w.fold.coords[link] != nil {
						known = append(known, w.faults.bit(link))
					}
				}
				slices.Sort(known)
				return w.relevant(slices.Compact(known), to)
			},
		},
	} {
		r := lazyRun(t, c.on, link, 2)
		want, _ := r.enumerated(t)
		found, err := r.find(t.Context(), c.forget)
		require.NoError(t, err, name)
		assert.NotEqual(t, want, found.pairs, name)
		for f := range want {
			for i, p := range want[f] {
				assert.Equal(t, int32(never), p.fails, "%s: two faults are too few", name)
				assert.LessOrEqual(t, found.pairs[f][i].fails, p.fails, name)
			}
		}
		assert.NotZero(t, found.sum.failing, name)
	}
}

// A firmware that does something else with its registers than it says is found out.
func TestRegistersThatAreNoVectorsAreFoundOut(t *testing.T) {
	testenv.Unraced(t)
	real := firmware.AdaptiveLink{}.Firmware()
	for name, c := range map[string]struct {
		change func(d switching.Decision, at switching.Arrival, sw switching.View) switching.Decision
		why    error
	}{
		"looks at how many bits are set": {func(
			d switching.Decision, _ switching.Arrival, _ switching.View,
		) switching.Decision {
			if d.Write.Do && bits.OnesCount64(d.Write.Value) > 2 {
				return switching.Discard("three")
			}
			return d
		}, errReads},
		"sets the bit of the first port that it offers": {func(
			d switching.Decision, _ switching.Arrival, sw switching.View,
		) switching.Decision {
			if d.Write.Do && len(d.Candidates) > 0 {
				d.Write.Value |= 1 << uint(sw.Place().Tree.UpIndex(d.Candidates[0].Port))
			}
			return d
		}, errReads},
		"writes what it has not looked at": {func(
			d switching.Decision, at switching.Arrival, _ switching.View,
		) switching.Decision {
			if at.From == weft.RoleNIC {
				d.Write = switching.RegisterWrite{Do: true, Value: 1}
			}
			return d
		}, errReads},
	} {
		fw := real
		fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			return c.change(real.Route(pkt, at, sw), at, sw)
		}
		r := lazyRun(t, "kary-ntree:4,3", fw, 2)
		_, err := r.find(t.Context(), (*lazyWalk).relevant)
		assert.ErrorIs(t, err, c.why, name)
	}
	fw := real // goes the wrong way down once, so that each packet sets a bit with nothing dead, and all of them all
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		t := sw.Place().Tree
		if at.From != weft.RoleDown || t.Leaf() || pkt.PortField == weft.PortFieldDown {
			return real.Route(pkt, at, sw)
		}
		f := pkt.Fields
		f.PortField = weft.PortFieldDown
		d := switching.Decision{Rule: "down, by any port", Candidates: sw.Scratch()}
		for i := range t.Down {
			if p := t.DownAt(i); switching.Offer(sw, p) {
				d.Candidates = append(d.Candidates, switching.Candidate{Port: p, VC: at.VC, Fields: f})
			}
		}
		return d
	}
	r := lazyRun(t, "kary-ntree:4,2", fw, 2)
	_, err := r.find(t.Context(), (*lazyWalk).relevant)
	assert.ErrorIs(t, err, errOthers)
}
