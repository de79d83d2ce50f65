package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// The first port that is up is found, and noted, as by asking for one after the other.
func TestTheFirstPortThatIsUpIsAskedForAsOneByOne(t *testing.T) {
	r := lazyRunOf(t, Config{Graph: topologytest.Parse(t, "leaf-spine:70,2,70"), Firmware: firmware.DeterministicLink()})
	a := newAsker(r.model, 1, newMortals(r.model, &r.Sets, false))
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 10_000 {
		v := a.views[len(a.views)-1-rng.IntN(2)] // a leaf, of 140 ports
		for i := range v.Dead {
			v.Dead[i], v.can[i], v.known[i] = rng.Uint64()|rng.Uint64(), rng.Uint64(), rng.Uint64()
		}
		w := v
		from, end, but := weft.PortID(rng.IntN(200)), weft.PortID(rng.IntN(300)), weft.PortID(rng.IntN(200))
		p := v.FirstUp(from, end, but)
		assert.Equal(t, switching.FirstUp(struct{ switching.View }{&w}, from, end, but), p)
		assert.Equal(t, w.known, v.known)
		assert.Equal(t, w.asked, v.asked)
		if p != weft.NoPort {
			found++
		}
	}
	assert.Greater(t, found, 1000)
}
