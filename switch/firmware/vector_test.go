package firmware

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestTheVectorsTimeoutIsConfigured(t *testing.T) {
	place := placeOf(4, 3, 1, 0, 1)
	require.Equal(t, []Register{{Name: RerouteVector, Width: 4, Expire: DefaultVectorTimeout}},
		AdaptiveLink{}.Firmware().Registers(place))
	require.Equal(t, weft.Second, AdaptiveLink{VectorTimeout: weft.Second}.Firmware().Registers(place)[0].Expire)
	perDigit := AdaptiveSwitch{Vector: VectorPerDigit, VectorTimeout: weft.Second}.Firmware()
	require.Equal(t, weft.Second, perDigit.Registers(placeOf(4, 3, 2, 0, 1))[3].Expire)
	require.Empty(t, AdaptiveSwitch{Vector: VectorInHeader}.Firmware().Registers(place))
}

// Tier 1 mends digit 0, which counts to 2k in an m-port tree; a leaf of adaptive-switch mends the
// two digits above it.
func TestThereIsAVectorForEachValueOfTheDigitsThatUTurnsMend(t *testing.T) {
	names := func(r []Register) (n []string) {
		for _, r := range r {
			n = append(n, r.Name)
		}
		return n
	}
	link, sw := AdaptiveLink{Vector: VectorPerDigit}.Firmware(), AdaptiveSwitch{Vector: VectorPerDigit}.Firmware()
	top, middle, low, leaf := placeOf(2, 4, 0, 0, 0, 0), placeOf(2, 4, 1, 0, 0, 0), placeOf(2, 4, 2, 0, 0, 0), placeOf(2,
		4, 3, 0, 0, 0)
	d := func(digit, values int) (n []string) {
		for v := range values {
			n = append(n, RerouteVector+" d"+string(rune('0'+digit))+"="+string(rune('0'+v)))
		}
		return n
	}
	require.Empty(t, link.Registers(top))
	require.Equal(t, d(0, 4), names(link.Registers(middle)))
	require.Equal(t, d(1, 2), names(link.Registers(low)))
	require.Equal(t, d(2, 2), names(link.Registers(leaf)))
	require.Empty(t, sw.Registers(top))
	require.Empty(t, sw.Registers(middle), "no U-turn is made there")
	require.Equal(t, d(0, 4), names(sw.Registers(low)))
	require.Equal(t, append(d(2, 2), d(1, 2)...), names(sw.Registers(leaf)))
}

// The register that a U-turn writes is the one named for the digit of the destination in which it
// first differs from the switch.
func TestAUTurnUsesTheVectorOfTheDigitItMends(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, spec := range []string{"kary-ntree:3,4", "mport-tree:6,3", "mport-tree:4,2", "leaf-spine:2,5,3"} {
		net := newTree(spec)
		for _, fw := range []Firmware{AdaptiveLinkDigit(), AdaptiveSwitchDigit()} {
			wrote := 0
			for _, v := range net.views {
				for dst := range weft.NICID(net.nics()) {
					tr := v.At.Tree
					p := tr.Up(rnd.IntN(net.k))
					index := -1
					pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
					digits := digitsOf(net, dst)
					for i := range int(tr.Tier) {
						if digits[i] != tr.W[i] {
							index = i
							break
						}
					}
					one := int(tr.Tier) - 1
					link := !fw.Tolerance.Switches
					switch {
					case index < 0 || link && index != one:
						continue
					case !link && index == one-1:
						pkt.PortField = weft.PortFieldDown
					case !link && !(index == one && tr.Leaf()):
						continue
					}
					d := fw.Route(&pkt, Arrival{Port: p, From: weft.RoleUp}, v)
					require.True(t, d.Write.Do, "%s: %d: %s", v.At.Name, dst, d.Rule)
					name := fw.RegistersAt(v.At)[d.Write.Index].Name
					require.Equal(t, RerouteVector+" d"+string(rune('0'+index))+"="+string(rune('0'+digits[index])), name)
					wrote++
				}
			}
			require.Positive(t, wrote)
		}
	}
}

// digitsOf is the digits of a NIC: those of the switches on the way down to it, and its port at the
// leaf.
func digitsOf(net *tree, nic weft.NICID) []int {
	sw, p := net.leaf(nic)
	return append(append([]int(nil), net.views[sw].At.Tree.W...), int(p))
}

// Two faults of different down ports exhaust one shared vector though each has a way left; with one
// per digit, or in the header, they do not.
func TestOnlyTheSharedVectorMixesFaultsOfDifferentDigits(t *testing.T) {
	// A U-turn switch <1,1> of the 3-ary 2-tree: up port 0 has come back for NIC 0, up port 1 for
	// NIC 6.
	for _, c := range []struct {
		fw   Firmware
		left int
	}{{AdaptiveLink{}.Firmware(), 0}, {AdaptiveLinkDigit(), 1}, {MisrouteVector{}.Firmware(), 1}} {
		v := still(placeOf(3, 2, 1, 1))
		v.Dead.Add(v.At.Tree.Up(2))
		var d Decision
		for i, dst := range []weft.NICID{0, 6} {
			pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
			d = c.fw.Route(&pkt, Arrival{Port: v.At.Tree.Up(i), From: weft.RoleUp}, v)
			if d.Write.Do {
				v.Registers[d.Write.Index] = d.Write.Value
			}
		}
		require.Len(t, d.Candidates, c.left, c.fw.Name)
	}
}

// The discards that the papers' rules may inform the source of do so, and no others.
func TestDiscardsForWantOfAnUpPortInformTheSource(t *testing.T) {
	for _, fw := range For(Trees) {
		if !fw.Notifies || fw.Source != nil {
			continue
		}
		v := still(placeOf(3, 2, 1, 1))
		from := func(p weft.PortID, dst weft.NICID) Decision {
			pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
			return fw.Route(&pkt, Arrival{Port: p, From: v.At.Roles[p]}, v)
		}
		require.False(t, from(3, 0).Notify, "%s: a U-turn", fw.Name)
		v.Dead.Add(4)
		v.Dead.Add(5)
		require.True(t, from(3, 0).Notify, "%s", fw.Name)
		v.Dead.Add(3)
		require.False(t, from(0, 0).Notify, "%s: rule 1", fw.Name)
		v.Dead.Add(1)
		require.False(t, from(3, 4).Notify, "%s: a dead NIC link", fw.Name)
	}
}
