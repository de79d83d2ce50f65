package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestArrivalsOfOneFlow(t *testing.T) {
	for _, c := range []struct {
		claim string
		seqs  []uint64
		want  []order
	}{
		{"in order", []uint64{0, 1, 2}, []order{inOrder, inOrder, inOrder}},
		{"a gap is no disorder", []uint64{0, 5, 9}, []order{inOrder, inOrder, inOrder}},
		{"one that was overtaken is late", []uint64{1, 0}, []order{inOrder, late}},
		{"one that comes again is a duplicate", []uint64{0, 0}, []order{inOrder, duplicate}},
		{"a late one that comes again is a duplicate", []uint64{1, 0, 0}, []order{inOrder, late, duplicate}},
		{"the first is remembered", []uint64{0, 63, 0}, []order{inOrder, inOrder, duplicate}},
		{
			"64 back is the last that is remembered",
			[]uint64{0, 1, 64, 1, 0},
			[]order{inOrder, inOrder, inOrder, duplicate, late},
		},
		{
			"a jump beyond the window forgets all",
			[]uint64{0, 1, 1000, 999, 1},
			[]order{inOrder, inOrder, inOrder, late, late},
		},
		{"a jump of exactly the window", []uint64{0, 64, 1, 63}, []order{inOrder, inOrder, late, late}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			var a arrivals
			var got []order
			for _, s := range c.seqs {
				got = append(got, a.take(s))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The window is compared with a set of all that has arrived.
func TestArrivalsAgreeWithASet(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var a arrivals
		seen := map[uint64]bool{}
		highest, any := uint64(0), false
		spread := int64(1 + r.IntN(100))
		for i := range int64(3000) {
			seq := uint64(max(0, i/2+r.Int64N(2*spread)-spread))
			want := inOrder
			switch {
			case !any || seq > highest:
			case highest-seq >= 64:
				want = late
			case seen[seq]:
				want = duplicate
			default:
				want = late
			}
			if got := a.take(seq); got != want {
				t.Fatalf("seed %d: number %d after %d: %v, want %v", seed, seq, highest, got, want)
			}
			seen[seq] = true
			if !any || seq > highest {
				highest, any = seq, true
			}
		}
	}
}

// What is kept of flows in short is what was kept of them whole.
func TestFlowsAgreeWithArrivals(t *testing.T) {
	const sources = 3 * tallyEntries
	for seed := range uint64(testenv.N(30, 10)) {
		r := rand.New(rand.NewPCG(seed, 3))
		f, want, sent := flows{nics: sources}, make([]arrivals, sources), make([]uint64, sources)
		few := 1 + r.IntN(sources) // sources that send: flows of 6 packets, or of 1000
		for step := range 6 * sources * (1 + int(seed%3)) {
			src := weft.NICID(r.IntN(few))
			if seed%2 == 0 && r.IntN(300) == 0 { // made anew
				sent[src] = (sent[src]>>numberBits + 1) << numberBits
				want[src] = arrivals{next: sent[src]}
				f.set(src, want[src])
			}
			seq := sent[src]
			switch r.IntN(12) {
			case 0: // lost
				sent[src] += 2
				seq++
			case 1: // late, or again
				seq -= min(seq&(1<<numberBits-1), uint64(r.IntN(80)))
			default:
				sent[src]++
			}
			a := f.get(src)
			require.Equal(t, want[src], a, "seed %d, step %d", seed, step)
			require.Equal(t, want[src].take(seq), a.take(seq))
			f.set(src, a)
			require.Equal(t, want[src], f.get(src), "seed %d, step %d", seed, step)
		}
		for i, a := range want {
			require.Equal(t, a, f.get(weft.NICID(i)), "seed %d, flow %d", seed, i)
		}
	}
}

// In a fabric where all speak with all, and nothing is lost, a flow takes a byte at either end;
// where packets are lost no more than an array of all would.
func TestFlowsAreSmall(t *testing.T) {
	const nics = 182 * tallyEntries // as many as mport-tree:36,3 has, less 16
	f := flows{nics: nics}
	longs := func() (n int) {
		for _, p := range f.pages {
			if p.long != nil {
				n++
			}
		}
		return n
	}
	take := func(src weft.NICID, seqs ...uint64) {
		for _, s := range seqs {
			a := f.get(src)
			a.take(s)
			f.set(src, a)
		}
	}
	for src := range weft.NICID(nics) {
		take(src, 1, 0, 3, 2) // overtaken twice, and made up for
	}
	require.Zero(t, longs())
	require.Empty(t, f.whole)
	for src := weft.NICID(0); src < nics; src += 4 * tallyEntries {
		take(src, 5)
	}
	require.Zero(t, longs())
	require.Len(t, f.whole, (len(f.pages)+3)/4, "a lost packet costs one entry")
	for src := range weft.NICID(nics) {
		take(src, 6)
	}
	require.Equal(t, len(f.pages), longs())
	require.Empty(t, f.whole, "of those that lost packets nothing is kept twice")
}
