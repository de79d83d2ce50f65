package switching

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Whatever the size, a packet per VC crosses from every port to the next, and the buffers hold what
// they should.
func TestASwitchWorksAtTheBoundsOfItsConfiguration(t *testing.T) {
	for _, ports := range []int{2, weft.MaxPorts, 64}[:testenv.N(3, 2)] {
		for _, vcs := range []int{1, weft.MaxVCs} {
			for _, buffer := range []int{1, 64} {
				if ports == weft.MaxPorts && vcs*buffer > 64 {
					continue // takes a gigabyte
				}
				t.Run(fmt.Sprintf("ports=%d/vcs=%d/buffer=%d", ports, vcs, buffer), func(t *testing.T) {
					t.Parallel()
					fw := &scripted{route: func(pkt *weft.Header, at Arrival, sw View) Decision {
						return To(sw, weft.PortID(pkt.Dst), at.VC, weft.NewFields(), "")
					}}
					r := newRig(t, ports, Config{
						VCs: vcs, InputBuffer: buffer, OutputBuffer: buffer, Firmware: fw.value(),
					})
					last := weft.PortID(ports - 1)
					for _, p := range []weft.PortID{0, last} {
						for vc := range weft.VC(vcs) {
							var want []uint64
							for range 2 * buffer { // the output and then the input queue full
								want = append(want, r.arrive(p, vc, 1, weft.NICID(last-p)))
							}
							v := r.Snapshot().Ports[p].VCs[vc]
							require.Equal(t, buffer, v.Input)
							require.Equal(t, buffer, r.Snapshot().Ports[last-p].VCs[vc].Output)
							require.Zero(t, r.neighbour[p].Credits(vc))
							var got []uint64
							for range want {
								h, ok := r.send(last - p)
								require.True(t, ok)
								require.Equal(t, vc, h.VC)
								got = append(got, h.Seq)
								r.free(last-p, vc)
							}
							require.Equal(t, want, got)
						}
					}
					require.Zero(t, r.Held())
				})
			}
		}
	}
}

var errPicky = errors.New("not here")

func TestPacketsThatWantMorePlacesThanAQueueHoldsAreDiscarded(t *testing.T) {
	// They would wait for ever. A firmware with LeastRoom would have been refused.
	fw := &scripted{routes: map[weft.NICID]Decision{1: {Candidates: []Candidate{{
		Port: 1, Need: 2,
		Fields: weft.NewFields(),
	}}, Rule: "bubble"}}}
	r := newRig(t, 2, Config{Firmware: fw.value(), OutputBuffer: 1})
	r.arrive(0, 0, 0, 1)
	require.Len(t, r.out.Drops, 1)
	require.Equal(t, "firmware wants 2 free places in an output queue that holds 1 (rule bubble): "+
		"want fewer, or set LeastRoom", r.out.Drops[0].Rule)
}

// picky is the check of a firmware that can run nowhere.
func picky(*weft.Place, int) error { return errPicky }

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := func() Config {
		place := &weft.Place{Name: "s1", Roles: make([]weft.Role, 4)}
		return Config{Place: place, Firmware: (&scripted{}).value(), Rand: rand.NewPCG(1, 2)}
	}
	_, err := New(good())
	require.NoError(t, err)
	register := func(c *Config, r Register) { c.Firmware = (&scripted{registers: []Register{r}}).value() }
	for claim, spoil := range map[string]func(c *Config){
		"no place":                 func(c *Config) { c.Place = nil },
		"no firmware":              func(c *Config) { c.Firmware.Route = nil },
		"no random source":         func(c *Config) { c.Rand = nil },
		"no ports":                 func(c *Config) { c.Place = &weft.Place{} },
		"too many ports":           func(c *Config) { c.Place = &weft.Place{Roles: make([]weft.Role, weft.MaxPorts+1)} },
		"too many VCs":             func(c *Config) { c.VCs = weft.MaxVCs + 1 },
		"negative VCs":             func(c *Config) { c.VCs = -1 },
		"too large an input":       func(c *Config) { c.InputBuffer = weft.MaxBuffer + 1 },
		"a negative output":        func(c *Config) { c.OutputBuffer = -1 },
		"a register without bits":  func(c *Config) { register(c, Register{}) },
		"a register of 65 bits":    func(c *Config) { register(c, Register{Width: 65}) },
		"a register that has past": func(c *Config) { register(c, Register{Width: 1, Expire: -1}) },
		"a firmware that says no":  func(c *Config) { c.Firmware.Check = picky },
		"more packets than we hold": func(c *Config) {
			c.VCs, c.InputBuffer = 16, 4096
			c.Place.Roles = make([]weft.Role, 256)
		},
	} {
		t.Run(claim, func(t *testing.T) {
			c := good()
			spoil(&c)
			_, err := New(c)
			require.ErrorIs(t, err, ErrConfig)
			if claim == "a firmware that says no" {
				require.ErrorIs(t, err, errPicky)
			}
		})
	}
}

func TestStallsPrintAsMetricsNameThem(t *testing.T) {
	var names []string
	for _, s := range Stalls() {
		names = append(names, s.String())
	}
	require.Equal(t, []string{"output_full", "link_down", "order", "no_credit", "firmware"}, names)
}
