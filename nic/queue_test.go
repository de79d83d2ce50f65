package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// by are the same addresses for every destination.
func by(list ...weft.Address) func(weft.NICID) []weft.Address {
	return func(weft.NICID) []weft.Address { return list }
}

// drain takes all there is, giving a credit back for each packet.
func (r *rig) drain() (all []weft.Header) {
	r.t.Helper()
	for packets := r.take(64); len(packets) > 0; packets = r.take(64) {
		for _, h := range packets {
			r.neighbour.Free(h.VC)
		}
		all = append(all, packets...)
		r.hand()
	}
	return all
}

func TestAPacketEntersByAnAddressOfItsDestination(t *testing.T) {
	r := newRig(t, Config{ID: 3, VCs: 4, Addresses: func(dst weft.NICID) []weft.Address {
		return map[weft.NICID][]weft.Address{5: {{Path: 7, Layers: 12, VC: 2}}, 6: {{VC: 4}}}[dst]
	}, Source: func(h *weft.Header) { h.Misroute = uint64(h.Path) + 1 }})
	r.send(5)
	r.send(6)
	r.send(7)
	_, err := r.Send(r.now, 5, 99, true, &r.out)
	require.NoError(t, err)
	fields := func(path, layers uint16) weft.Fields {
		f := weft.NewFields()
		f.Path, f.Layers, f.Misroute = path, layers, uint64(path)+1
		return f
	}
	require.ElementsMatch(t, []weft.Header{
		{Src: 3, Dst: 5, Size: 256, VC: 2, Fields: fields(7, 12)},
		{Src: 3, Dst: 5, Seq: 1, Size: 99, VC: 2, Traced: true, Fields: fields(7, 12)},
		{Src: 3, Dst: 6, Size: 256, Fields: fields(0, 0)}, // a VC that the link does not have
		{Src: 3, Dst: 7, Size: 256, Fields: fields(0, 0)}, // no address
	}, r.take(9))
	require.Len(t, r.out.Egress, 1)
	require.Equal(t, weft.VC(2), r.out.Egress[0].VC)
}

// Runs without addresses, or with one for each destination, draw what they drew before there were
// any.
func TestAnAddressIsDrawnOnlyWhereThereIsAChoice(t *testing.T) {
	generated := func(addresses func(weft.NICID) []weft.Address) (int, []weft.Header) {
		made := 0
		n := newRig(t, Config{NICs: 8, VCs: 3, Rand: counting{Rand: rand.NewPCG(1, 2), n: &made}, Addresses: addresses})
		require.NoError(t, n.SetSource(0, sources(t, "uniform:1", 8, rand.NewPCG(1, 1))[0], &n.out))
		n.now = 20 * weft.Microsecond
		n.Tick(n.now, &n.out)
		draws := made
		list := n.drain()
		require.Equal(t, draws, made, "all draws are made when packets are generated")
		for i := range list {
			list[i].VC = 0
		}
		return draws, list
	}
	draws, plain := generated(nil)
	require.Greater(t, len(plain), 50)
	for _, same := range []func(weft.NICID) []weft.Address{by(), by(weft.Address{VC: 2})} {
		n, list := generated(same)
		require.Equal(t, draws, n)
		require.Equal(t, plain, list)
	}
	n, _ := generated(by(weft.Address{}, weft.Address{VC: 1}))
	require.Greater(t, n, draws)
}

func TestAllAddressesAreTakenAlike(t *testing.T) {
	r := newRig(t, Config{
		VCs: 3, QueueBytes: 1 << 30,
		Addresses: by(weft.Address{}, weft.Address{Path: 1, VC: 1}, weft.Address{Path: 2, VC: 2}),
	})
	for range 3000 {
		r.send(1)
	}
	var count [3]int
	for _, h := range r.drain() {
		require.Equal(t, uint16(h.VC), h.Path)
		count[h.Path]++
	}
	for _, n := range count {
		require.InDelta(t, 1000, n, 100)
	}
}

func TestALayerWithoutCreditsHoldsUpNoOther(t *testing.T) {
	r := newRig(t, Config{
		VCs:       3,
		Addresses: func(dst weft.NICID) []weft.Address { return []weft.Address{{VC: weft.VC(dst)}} },
	})
	for range 4 {
		r.send(0)
		r.send(1)
		r.send(2)
	}
	vcs := func(list []weft.Header) (vcs []weft.VC) {
		for _, h := range list {
			vcs = append(vcs, h.VC)
		}
		return vcs
	}
	require.Equal(t, []weft.VC{0, 1, 2, 0, 1, 2}, vcs(r.take(9)), "in turn, two credits each")
	r.neighbour.Free(2)
	r.hand()
	require.Equal(t, []weft.PortID{0}, r.out.Ready)
	require.Equal(t, []weft.VC{2}, vcs(r.take(9)))
	r.neighbour.Free(0)
	r.neighbour.Free(1)
	r.neighbour.Free(1)
	r.hand()
	require.Equal(t, []weft.VC{0}, vcs(r.take(1)))
	require.Equal(t, []weft.VC{1, 1}, vcs(r.take(9)))
	require.Equal(t, 2, r.Snapshot().Queued)
	require.Equal(t, 2*256, r.Snapshot().QueuedBytes)
	require.True(t, r.Waits())
}

// Whatever is sent and whenever credits come: the bound holds, packets of a flow in one VC keep
// their order, and no VC that has a credit waits for longer than a turn of each.
func TestTheSendQueueKeepsItsPromises(t *testing.T) {
	for seed := range uint64(testenv.N(20, 8)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const vcs, bound = 5, 20 * 256
		r := newRig(t, Config{VCs: vcs, QueueBytes: bound, Addresses: func(dst weft.NICID) []weft.Address {
			list := make([]weft.Address, 1+dst%3)
			for i := range list {
				list[i] = weft.Address{Path: uint16(i), VC: weft.VC(int(dst)+i) % vcs}
			}
			return list
		}})
		last := map[[2]int]uint64{} // per destination and VC: the next number that may come
		var passed [vcs]int         // packets that have gone while this VC had one and a credit
		queued, held := 0, make([]int, vcs)
		for range 2000 {
			switch rnd.IntN(3) {
			case 0:
				_, err := r.Send(r.now, weft.NICID(rnd.IntN(8)), 256, false, &r.out)
				require.Equal(t, queued == bound, err != nil)
				if err == nil {
					queued += 256
				}
			case 1:
				vc := rnd.IntN(vcs)
				if held[vc] > 0 {
					held[vc]--
					r.neighbour.Free(weft.VC(vc))
					r.hand()
				}
			default:
				may := func(vc int) bool { return r.queue.fifos[vc].Len() > 0 && r.end.Credits(weft.VC(vc)) > 0 }
				var could [vcs]bool
				for vc := range vcs {
					could[vc] = may(vc)
				}
				packets := r.take(1)
				require.Equal(t, could != [vcs]bool{}, len(packets) > 0, "whatever can go goes")
				for _, h := range packets {
					queued -= 256
					held[h.VC]++
					key := [2]int{int(h.Dst), int(h.VC)}
					require.GreaterOrEqual(t, h.Seq, last[key], "in order within a flow and VC")
					last[key] = h.Seq + 1
					for vc := range vcs {
						if could[vc] && vc != int(h.VC) {
							passed[vc]++
							require.Less(t, passed[vc], vcs, "it is passed by every other once")
						} else {
							passed[vc] = 0
						}
					}
				}
			}
			require.Equal(t, queued, r.Snapshot().QueuedBytes)
		}
		for {
			for vc := range held {
				for ; held[vc] > 0; held[vc]-- {
					r.neighbour.Free(weft.VC(vc))
				}
			}
			r.hand()
			packets := r.take(64)
			if len(packets) == 0 {
				break
			}
			for _, h := range packets {
				held[h.VC]++
			}
		}
		require.Equal(t, r.Stats().Injected, r.Snapshot().Counters.Sent)
		require.False(t, r.Waits())
	}
}

func TestSendingByAddressesAllocatesNothing(t *testing.T) {
	r := newRig(t, Config{VCs: 4, QueueBytes: 1 << 20, Addresses: by(weft.Address{}, weft.Address{Path: 1, VC: 3})})
	var out weft.Actions
	step := func() {
		out.Reset()
		for range 8 {
			if _, err := r.Send(0, 1, 256, false, &out); err != nil {
				t.Fatal(err)
			}
		}
		for vc := range weft.VC(4) {
			for r.queue.fifos[vc].Len() > 0 {
				r.queue.popped(vc, r.queue.fifos[vc].PopFront().size)
			}
		}
	}
	step()
	require.Zero(t, testing.AllocsPerRun(1000, step))
	require.Zero(t, r.queue.waiting)
}
