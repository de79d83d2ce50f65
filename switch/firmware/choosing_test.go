package firmware

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// offering is a firmware that offers always the same.
func offering(list []Candidate) Firmware {
	return Firmware{
		Name: "offering", On: Trees, VCs: 2, Check: checkUniform, CheckRequeue: mayRequeue,
		Source: func(_ *weft.Place, _ weft.PortID, h *weft.Header) { h.Misroute = 5 },
		Route: func(*weft.Header, Arrival, View) Decision {
			write := switching.RegisterWrite{Do: true, Value: 7}
			return Decision{Candidates: list, Rule: "1: any", Turn: switching.Reroute, Write: write}
		},
	}
}

func TestAChoiceLeavesOfTheCandidatesTheOnesItNames(t *testing.T) {
	t.Parallel()
	list := []Candidate{{Port: 2, VC: 0}, {Port: 2, VC: 1}, {Port: 3, VC: 0, Class: 1}}
	one := new(weft.VC(1))
	for what, c := range map[string]struct {
		choices []Choice
		hops    uint16
		in      weft.PortID
		want    []Candidate
	}{
		"none":               {nil, 0, 0, list},
		"a port":             {[]Choice{{In: []weft.PortID{0, 1}, To: []weft.PortID{3}}}, 0, 1, list[2:]},
		"a VC":               {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{2}, VC: one}}, 0, 0, list[1:2]},
		"several ports":      {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{2, 3}}}, 0, 0, list},
		"came otherwise":     {[]Choice{{In: []weft.PortID{1}, To: []weft.PortID{3}}}, 0, 0, list},
		"no candidate":       {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{1}}}, 0, 0, list},
		"no candidate in VC": {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, VC: one}}, 0, 0, list},
		"another switch":     {[]Choice{{Switch: 1, In: []weft.PortID{0}, To: []weft.PortID{3}}}, 0, 0, list},
		"the first that has some": {[]Choice{
			{In: []weft.PortID{0}, To: []weft.PortID{1}}, {In: []weft.PortID{0}, To: []weft.PortID{3}}, {
				In: []weft.PortID{0},
				To: []weft.PortID{2},
			},
		}, 0, 0, list[2:]},
		"the hop":            {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, Hop: 3}}, 2, 0, list[2:]},
		"another hop":        {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, Hop: 3}}, 4, 0, list},
		"every other hop":    {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, Hop: 3, Every: 2}}, 4, 0, list[2:]},
		"not every hop":      {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, Hop: 3, Every: 2}}, 5, 0, list},
		"not before the hop": {[]Choice{{In: []weft.PortID{0}, To: []weft.PortID{3}, Hop: 3, Every: 2}}, 0, 0, list},
	} {
		sw := &switching.Still{At: &weft.Place{Name: "s0", Roles: make([]weft.Role, 4)}}
		for _, offer := range []func() []Candidate{
			func() []Candidate { return list },
			func() []Candidate { return append(sw.Scratch(), list...) },
		} {
			k := switching.Ask{Packet: weft.Header{Hops: c.hops}, At: Arrival{Port: c.in}, View: sw}
			fw := Choosing(slow(offering(offer())), c.choices)
			fw.Batch([]*switching.Ask{&k})()
			assert.Equal(t, c.want, k.Decision.Candidates, what)
			d := Choosing(offering(offer()), c.choices).Route(&k.Packet, k.At, sw)
			assert.Equal(t, c.want, d.Candidates, what)
			assert.Equal(t, "1: any", d.Rule)
			assert.Equal(t, switching.Reroute, d.Turn)
			assert.EqualValues(t, 7, d.Write.Value)
		}
	}
	assert.Equal(t, []Candidate{{Port: 2, VC: 0}, {Port: 2, VC: 1}, {Port: 3, VC: 0, Class: 1}}, list,
		"the firmware's own list is left alone")
}

func TestAFirmwareWithChoicesIsOtherwiseWhatItWas(t *testing.T) {
	t.Parallel()
	place := newTree("kary-ntree:4,3").views[0].At
	fw := Choosing(offering(nil), []Choice{{Switch: place.Switch, VC: new(weft.VC(2))}})
	require.ErrorContains(t, fw.Fits(place, 2), "a choice at "+place.Name+" in VC 2, and there are 2")
	require.NoError(t, fw.Fits(place, 3))
	require.ErrorContains(t, fw.Fits(&weft.Place{Switch: 9}, 3), "firmware offering routes", "the firmware's own")
	require.ErrorContains(t, fw.Fits(placeWithoutK(), 3), "routes trees with as many up ports", "its own check")
	var h weft.Header
	fw.Source(place, 0, &h)
	require.EqualValues(t, 5, h.Misroute)
	require.Error(t, fw.Requeues(place), "a packet that is routed a second time is at another hop")
	was := offering(nil)
	require.NoError(t, was.Requeues(place))
}

// placeWithoutK is a place in a tree whose tiers have other radices.
func placeWithoutK() *weft.Place {
	return &weft.Place{Name: "s0", Tree: &weft.Tree{N: 2, Radix: []int{2, 3}}}
}
