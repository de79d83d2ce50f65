package nic

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// to is where NIC i of a permutation sends; itself when it sends nothing.
func to(t testing.TB, list []Source, i int) int {
	t.Helper()
	if list[i].To == nil {
		return i
	}
	dst, ok := list[i].To.Next(nil)
	require.True(t, ok)
	return int(dst)
}

// Each permutation is compared with the words of its definition, on bits.
func TestBitPermutationsAreWhatTheirNamesSay(t *testing.T) {
	for digits := 1; digits <= 8; digits++ {
		n := 1 << digits
		for pattern, want := range map[string]func(i int) int{
			"complement": func(i int) int { return i ^ (n - 1) },
			"reversal":   func(i int) int { return int(bits.Reverse64(uint64(i)) >> (64 - digits)) },
			"shuffle":    func(i int) int { return (i<<1 | i>>(digits-1)) & (n - 1) },
			"rotation":   func(i int) int { return (i>>1 | i<<(digits-1)) & (n - 1) },
			"transpose":  func(i int) int { return (i>>(digits/2) | i<<(digits/2)) & (n - 1) },
			"neighbour":  func(i int) int { return (i + 1) % n },
			"tornado":    func(i int) int { return (i + (n+1)/2 - 1) % n },
		} {
			if pattern == "transpose" && digits%2 == 1 {
				require.ErrorContains(t, mustParse(t, "transpose:0.5").Fits(over(n, nil)), "an even power of 2")
				continue
			}
			list := sources(t, pattern+":0.5", n, nil)
			for i := range n {
				require.Equal(t, want(i), to(t, list, i), "%s of %d among %d", pattern, i, n)
			}
		}
	}
}

func TestPermutationsAreBijectionsAndSomeTheirOwnInverse(t *testing.T) {
	for _, radix := range []int{2, 3, 4, 7, 10} {
		for nics, digits := radix, 1; nics <= 1000; nics, digits = nics*radix, digits+1 {
			for _, pattern := range []string{
				"complement", "reversal", "transpose", "shuffle", "rotation", "neighbour",
				"tornado",
			} {
				if pattern == "transpose" && digits%2 == 1 {
					continue
				}
				list := sources(t, fmt.Sprintf("%s:0.5,radix=%d", pattern, radix), nics, nil)
				hit := make([]bool, nics)
				for i := range list {
					dst := to(t, list, i)
					require.False(t, hit[dst], "%s, %d NICs, radix %d: two send to %d", pattern, nics, radix, dst)
					hit[dst] = true
					if pattern == "complement" || pattern == "reversal" || pattern == "transpose" {
						require.Equal(t, i, to(t, list, dst), "%s, %d NICs, radix %d", pattern, nics, radix)
					}
				}
			}
		}
	}
}

func TestDigitsAreThoseOfTheRadix(t *testing.T) {
	for spec, want := range map[string][2]int{ // of 64 NICs, by base 4: 1*16 + 2*4 + 3 = 27
		"complement:0.5,radix=4": {27, 2*16 + 1*4 + 0},
		"reversal:0.5,radix=4":   {27, 3*16 + 2*4 + 1},
		"shuffle:0.5,radix=4":    {27, 2*16 + 3*4 + 1},
		"rotation:0.5,radix=4":   {27, 3*16 + 1*4 + 2},
		"neighbour:0.5,radix=4":  {27, 2*16 + 3*4 + 0},
		"tornado:0.5,radix=4":    {27, 2*16 + 3*4 + 0},
		"transpose:0.5,radix=8":  {27, 3*8 + 3},
		"tornado:0.5":            {27, 58},
		"neighbour:0.5":          {63, 0},
	} {
		require.Equal(t, want[1], to(t, sources(t, spec, 64, nil), want[0]), spec)
	}
}

// The example of docs/howto/traffic.md.
func TestWhereNIC19Of64Sends(t *testing.T) {
	for pattern, want := range map[string]int{
		"complement": 44, "reversal": 50, "transpose": 26, "shuffle": 38, "rotation": 41, "neighbour": 20, "tornado": 50,
		"all-to-all": 20,
	} {
		require.Equal(t, want, to(t, sources(t, pattern+":0.5", 64, nil), 19), pattern)
	}
}

func TestTornadoGoesJustLessThanHalfRound(t *testing.T) {
	for nics, far := range map[int]int{3: 1, 4: 1, 7: 3, 8: 3, 9: 4} {
		require.Equal(t, far, to(t, sources(t, "tornado:0.5", nics, nil), 0), "of %d", nics)
	}
}

func TestWhoWouldSendToItselfSendsNothing(t *testing.T) {
	list := sources(t, "reversal:0.5", 8, nil)
	for i, s := range list {
		require.Equal(t, i == 0 || i == 2 || i == 5 || i == 7, s.To == nil, "NIC %d", i)
	}
}

func TestAPermutationSaysHowManyNICsItNeeds(t *testing.T) {
	for _, c := range []struct {
		spec string
		nics int
		want string
	}{
		{"complement:0.5", 54, "a power of 2, not 54: 32 or 64 would do"},
		{"transpose:0.5", 54, "an even power of 2, not 54: 16 or 64 would do"},
		{"shuffle:0.5,radix=3", 64, "a power of 3, not 64: 27 or 81 would do"},
		{"tornado:0.5,radix=100", 64, "a power of 100, not 64: 100 would do"},
		{"neighbour:0.5,radix=262144", 262143, "a power of 262144, not 262143: 262144 would do"},
	} {
		err := mustParse(t, c.spec).Fits(over(c.nics, nil))
		require.ErrorIs(t, err, ErrTraffic)
		require.ErrorContains(t, err, c.want)
	}
}

// counts is how many of the packets of NIC i go to each.
func counts(t testing.TB, s Source, nics, packets int, r Rand) []int {
	got := make([]int, nics)
	for range packets {
		dst, ok := s.To.Next(r)
		require.True(t, ok)
		got[dst]++
	}
	return got
}

func TestAShareOfAllPacketsGoesToHotNICsBesideUniformTraffic(t *testing.T) {
	const nics, packets, p = 16, 40_000, 0.3
	r := rand.NewPCG(1, 5)
	list := sources(t, "hotspot:0.5,hot=n3/n8,share=0.3", nics, r)
	for i := range list {
		got := counts(t, list[i], nics, packets, r)
		require.Zero(t, got[i], "NIC %d sends to itself", i)
		for dst, n := range got {
			want := (1 - p) / (nics - 1.0)
			switch {
			case dst == i:
				continue
			case (dst == 3 || dst == 8) && (i == 3 || i == 8):
				want += p // the only other
			case dst == 3 || dst == 8:
				want += p / 2
			}
			require.InDelta(t, want*packets, n, 250, "%d to %d", i, dst)
		}
	}
	lonely := sources(t, "hotspot:0.5,hot=n3,share=1", nics, r)
	require.Equal(t, packets, counts(t, lonely[0], nics, packets, r)[3], "all")
	for dst, n := range counts(t, lonely[3], nics, packets, r) {
		require.Equal(t, dst == 3, n == 0, "the only hot NIC sends uniformly")
	}
}

func TestHotNICsAreDrawnUnlessNamed(t *testing.T) {
	hot := func(spec string, seed uint64) (list []int) {
		r := rand.NewPCG(seed, 1)
		for dst, n := range counts(t, sources(t, spec+",share=1", 8, r)[0], 8, 200, r) {
			if n > 0 {
				list = append(list, dst)
			}
		}
		return list
	}
	require.Len(t, hot("hotspot:0.5", 3), 1, "one unless given")
	drawn := map[string]bool{}
	for seed := range uint64(200) {
		list := hot("hotspot:0.5,hot=2", seed)
		require.LessOrEqual(t, len(list), 2)
		drawn[fmt.Sprint(list)] = true
	}
	require.Len(t, drawn, 7*6/2+7, "every pair of others, and each of them with NIC 0 itself")
	require.ErrorContains(t, mustParse(t, "hotspot:0.5,hot=9").Fits(over(8, nil)), "9 NICs cannot be hot: there are 8")
	require.ErrorContains(t, mustParse(t, "hotspot:0.5,hot=n8").Fits(over(8, nil)), "no n8")
}

func TestAllToAllServesAllOthersInTurnAndNoTwoTheSameAtOnce(t *testing.T) {
	for nics := 2; nics < 20; nics++ {
		list := sources(t, "all-to-all:0.5", nics, nil)
		seen := make([]map[weft.NICID]int, nics)
		for range 3 * (nics - 1) {
			now := map[weft.NICID]bool{}
			for i := range list {
				dst, _ := list[i].To.Next(nil)
				require.NotEqual(t, i, int(dst))
				if seen[i] == nil {
					seen[i] = map[weft.NICID]int{}
				}
				seen[i][dst]++
				now[dst] = true
			}
			require.Len(t, now, nics)
		}
		for i := range seen {
			require.Len(t, seen[i], nics-1)
			for _, n := range seen[i] {
				require.Equal(t, 3, n)
			}
		}
	}
}

func TestIncastIsManyToOne(t *testing.T) {
	for _, c := range []struct {
		spec string
		from int
	}{{"incast:0.5", 7}, {"incast:0.5,from=3", 3}, {"incast:0.5,to=n5", 7}, {"incast:0.5,to=n5,from=1", 1}} {
		targets, senders := map[int]bool{}, map[int]bool{}
		for seed := range uint64(60) {
			list := sources(t, c.spec, 8, rand.NewPCG(seed, 0))
			sending, target := 0, map[int]bool{}
			for i := range list {
				if list[i].To != nil {
					sending++
					senders[i], target[to(t, list, i)] = true, true
				}
			}
			require.Equal(t, c.from, sending, c.spec)
			require.Len(t, target, 1)
			for dst := range target {
				require.Nil(t, list[dst].To, "it does not send")
				targets[dst] = true
			}
		}
		if c.spec == "incast:0.5,to=n5" || c.spec == "incast:0.5,to=n5,from=1" {
			require.Equal(t, map[int]bool{5: true}, targets)
			require.Len(t, senders, 7, "drawn")
		} else {
			require.Len(t, targets, 8, "drawn")
		}
	}
	require.ErrorContains(t, mustParse(t, "incast:0.5,from=8").Fits(over(8, nil)),
		"8 NICs cannot send to one: there are 8 in all")
	require.ErrorIs(t, mustParse(t, "incast:0.5,to=x").Fits(Over{NICs: 8, Rate: 1}), ErrNoSuchNIC)
}

// The bytes that come out over a long time are the load, whatever the process and the sizes.
func TestTheLoadIsTheShareOfTheLinkWhateverProcessAndSizes(t *testing.T) {
	for _, spec := range []string{
		"uniform:0.2", "uniform:1", "uniform:0.001,sizes=1", "uniform:0.7,sizes=64:0.6/1500:0.4",
		"hotspot:0.5,hot=2,sizes=64:0.9/9000:0.1",
		"complement:0.3,arrivals=normal,sizes=64:0.6/1500:0.4",
		"all-to-all:0.6,arrivals=periodic,sizes=64:0.5/128:0.25/256:0.25",
		"incast:0.9,arrivals=bursts,burst=4,sizes=64:0.6/1500:0.4",
	} {
		r := rand.NewPCG(11, 12)
		traffic := mustParse(t, spec)
		for _, s := range sources(t, spec, 4, r) {
			if s.To == nil {
				continue
			}
			n := newDarkRig(t, Config{NICs: 4, Rand: r, QueueBytes: 1 << 40})
			require.NoError(t, n.SetSource(0, s, &n.out))
			const packets = 40_000
			until := packets * s.Mean
			n.Tick(until, &n.out)
			require.InEpsilon(t, packets, n.Stats().Injected, 0.05, spec)
			require.InEpsilon(t, traffic.Load, float64(n.queue.bytes)/(float64(until)/1000), 0.06, spec)
			break
		}
	}
}

func TestALoadThatTheClockCannotTellIsNamed(t *testing.T) {
	o := over(4, nil)
	o.Rate = 1e15
	require.ErrorContains(t, mustParse(t, "uniform:1").Fits(o), "a packet of 256 bytes every 0.256 ps")
	o.Rate = 1e-9
	require.ErrorContains(t, mustParse(t, "uniform:1").Fits(o), "expected from 1 ps to")
	o.Rate = 0
	require.Error(t, mustParse(t, "uniform:1").Fits(o))
}
