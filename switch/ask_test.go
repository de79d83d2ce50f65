package switching

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// slow is the firmware with a Batch that decides as its Route does.
func (f *scripted) slow() Firmware {
	fw := f.value()
	fw.Batch = func(asks []*Ask) func() {
		decisions := make([]Decision, len(asks))
		for i, k := range asks {
			decisions[i] = f.Route(&k.Packet, k.At, k.View)
			decisions[i].Candidates = slices.Clone(decisions[i].Candidates)
		}
		return func() {
			for i, k := range asks {
				k.Decision = decisions[i]
			}
		}
	}
	return fw
}

// newAskingRig makes a switch whose firmware is asked by the test.
func newAskingRig(t testing.TB, ports int, fw *scripted, c Config) *rig {
	c.Firmware = fw.slow()
	r := newDarkRig(t, ports, c)
	r.LetAsk()
	for p := range weft.PortID(ports) {
		r.connect(p)
	}
	return r
}

// take has the asks taken that there are.
func (r *rig) take() *Asks {
	var b Asks
	r.Asks(r.now, &b)
	return &b
}

// answer hands the answers in.
func (r *rig) answer(b *Asks) {
	if len(b.asks) > 0 {
		b.Decide()
	}
	r.call(func() { r.Answer(r.now, b, &r.out) })
}

func TestAPacketWaitsUntilTheFirmwareAnswers(t *testing.T) {
	fw := to(map[weft.NICID]Decision{1: ways(1), 2: ways(2)})
	r := newAskingRig(t, 3, fw, Config{})
	first := r.arrive(0, 0, 7, 1)
	require.True(t, r.out.Asking)
	second := r.arrive(0, 0, 7, 2)
	require.Equal(t, 2, r.Held())
	require.Empty(t, r.blocked())
	b := r.take()
	require.Len(t, b.asks, 2)
	require.Equal(t, first, b.asks[0].Packet.Seq)
	require.False(t, r.Asks(r.now, &Asks{}), "none is asked twice")
	r.answer(b)
	require.Equal(t, []weft.PortID{0, 1, 2}, r.out.Ready, "the places in the input go back, too")
	require.Equal(t, []uint64{first}, r.sent(1))
	require.Equal(t, []uint64{second}, r.sent(2))
	require.EqualValues(t, 2, r.Snapshot().Ports[0].VCs[0].Stalls[StallFirmware])
	require.EqualValues(t, 2, r.SumVCs()[0].Stalls[StallFirmware])
	require.EqualValues(t, 2, r.Stats().Decisions)
	require.Zero(t, r.Held())
}

func TestWhatIsBehindAPacketOfItsFlowIsAskedForOnceItHasGone(t *testing.T) {
	r := newAskingRig(t, 2, to(map[weft.NICID]Decision{1: ways(1)}), Config{InputBuffer: 4, OutputBuffer: 4})
	first, second := r.arrive(0, 0, 7, 1), r.arrive(0, 0, 7, 1)
	b := r.take()
	require.Len(t, b.asks, 1)
	r.answer(b)
	require.True(t, r.out.Asking)
	r.answer(r.take())
	require.Equal(t, []uint64{first, second}, r.sent(1))
}

func TestAPacketIsAskedAboutAnewWhenSomethingHasChanged(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"a port dies":  func(r *rig) { r.cut(1) },
		"a port is up": func(r *rig) { r.connect(2) },
		"a register": func(r *rig) {
			r.registers[0].value = 1
			r.registers[0].expires = r.now
			r.call(func() { r.Tick(r.now, &r.out) })
		},
		"the firmware": func(r *rig) { r.load(r.fw.slow(), 2) },
		"another write": func(r *rig) {
			r.follow(&Decision{Write: RegisterWrite{Do: true, Value: 5}}, &weft.Header{}, Arrival{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			fw := &scripted{registers: []Register{{Name: "r", Width: 8, Expire: 100}}, route: live(1, 2)}
			r := newAskingRig(t, 3, fw, Config{})
			if name == "a port is up" {
				r.cut(2)
			}
			seq := r.arrive(0, 0, 7, 1)
			b := r.take()
			change(r)
			r.answer(b)
			require.True(t, r.out.Asking, "asked anew")
			require.Equal(t, 1, r.Held())
			r.answer(r.take())
			require.False(t, r.out.Asking)
			out := append(r.sent(1), r.sent(2)...)
			require.Equal(t, []uint64{seq}, out)
			require.EqualValues(t, 1, r.Snapshot().Ports[0].VCs[0].Stalls[StallFirmware], "it waits once")
		})
	}
}

func TestACandidateWhosePortHasDiedIsLeftOut(t *testing.T) {
	fw := to(map[weft.NICID]Decision{1: ways(1, 2)})
	r := newAskingRig(t, 3, fw, Config{})
	r.arrive(0, 0, 7, 1)
	b := r.take()
	r.cut(1)
	r.answer(b)
	r.answer(r.take())
	require.Len(t, r.sent(2), 1)
}

func TestAnAnswerForAPacketThatIsGoneIsDropped(t *testing.T) {
	fw := to(map[weft.NICID]Decision{1: ways(1), 2: ways(2)})
	r := newAskingRig(t, 3, fw, Config{})
	r.arrive(0, 0, 7, 1)
	b := r.take()
	r.call(func() { r.Crash(r.now, &r.out) })
	require.Len(t, r.out.Drops, 1)
	for p := range weft.PortID(3) {
		r.neighbour[p].Signal(r.now, false)
		r.connect(p)
	}
	late := r.arrive(0, 0, 8, 2) // in the slot of the one that is lost
	require.Empty(t, r.take().asks, "one ask for a slot at a time")
	r.answer(b)
	require.True(t, r.out.Asking)
	require.Empty(t, r.out.Ready)
	r.answer(r.take())
	require.Equal(t, []uint64{late}, r.sent(2))
	require.Empty(t, r.sent(1))
	require.Zero(t, r.Held())
}

func TestASwitchThatMovesTakesThePacketsThatWaitForTheFirmware(t *testing.T) {
	fw := to(map[weft.NICID]Decision{1: ways(1)})
	r := newAskingRig(t, 2, fw, Config{})
	seq := r.arrive(0, 0, 7, 1)
	b := r.take()
	var h HandOver
	r.call(func() { h = r.Leave(r.now, &r.out) })
	require.Len(t, h.Packets, 1)
	r.answer(b)
	require.False(t, r.out.Asking)
	require.Zero(t, r.Held())

	there := newDarkRig(t, 2, Config{Firmware: fw.slow()})
	there.LetAsk()
	there.now = r.now
	there.call(func() { require.NoError(t, there.Come(there.now, 9, &h, &there.out)) })
	for p := range weft.PortID(2) {
		there.neighbour[p].Signal(there.now, true)
		there.call(func() { there.Signal(there.now, p, true, &there.out) })
	}
	for range 3 {
		for p := range weft.PortID(2) {
			there.settle(p)
		}
	}
	b = there.take()
	require.Len(t, b.asks, 1)
	there.answer(b)
	require.Equal(t, []uint64{seq}, there.sent(1))
}

func TestPacketsThatWaitForAFirmwareGoByTheOneThatReplacesIt(t *testing.T) {
	r := newAskingRig(t, 3, to(map[weft.NICID]Decision{1: ways(1)}), Config{})
	first := r.arrive(0, 0, 7, 1)
	b := r.take()
	second := r.arrive(0, 0, 8, 1) // not taken yet
	r.load(to(map[weft.NICID]Decision{1: ways(2)}).value(), 2)
	require.Equal(t, []uint64{first, second}, r.sent(2), "it answers at once")
	r.answer(b)
	require.Empty(t, r.sent(1))
	require.Empty(t, r.take().asks)

	r.load(to(map[weft.NICID]Decision{1: ways(1)}).slow(), 3)
	third := r.arrive(0, 0, 8, 1)
	r.answer(r.take())
	require.Equal(t, []uint64{third}, r.sent(1))
	require.Zero(t, r.Held())
}

func TestAStrandedPacketIsAskedAboutAndMayGetItsLinkBack(t *testing.T) {
	for _, back := range []bool{false, true} {
		fw := to(map[weft.NICID]Decision{1: ways(1)})
		r := newAskingRig(t, 3, fw, Config{Requeue: true})
		seq := r.arrive(0, 0, 7, 1)
		r.answer(r.take())
		fw.routes[1] = ways(2)
		r.cut(1)
		b := r.take()
		require.Len(t, b.asks, 1)
		way := weft.PortID(2)
		if back {
			way = 1
			r.connect(1)
		}
		r.answer(b)
		require.False(t, r.out.Asking)
		require.Equal(t, []uint64{seq}, r.sent(way))
		require.Zero(t, r.Held())
	}
}

func TestAPacketForWhichThereIsNoAnswerIsDiscarded(t *testing.T) {
	for _, waits := range []bool{true, false} {
		fw := to(map[weft.NICID]Decision{1: ways(1)})
		broken := fw.slow()
		broken.Batch = func(asks []*Ask) func() {
			return func() {
				for _, k := range asks {
					k.Err = errors.New("it is silent")
				}
			}
		}
		var heard []RoutePanic
		r := newDarkRig(t, 2, Config{Firmware: broken, Panicked: func(p RoutePanic) { heard = append(heard, p) }})
		if waits {
			r.LetAsk()
		}
		r.connect(0)
		r.connect(1)
		var f weft.Frame
		r.neighbour[0].Stamp(r.now, &f)
		r.neighbour[0].Spend(0)
		f.Packets = []weft.Header{{Src: 7, Dst: 1}}
		r.call(func() { r.Receive(r.now, 0, &f, &r.out) })
		if waits {
			r.answer(r.take())
		}
		require.Len(t, heard, 1)
		require.Equal(t, errors.New("it is silent"), heard[0].Value)
		require.Len(t, r.out.Drops, 1)
		require.Equal(t, RuleNoAnswer, r.out.Drops[0].Rule)
		require.Zero(t, r.Held())
	}
}

// Where a firmware reads no queues, a packet that was blocked goes by what was decided: Route would
// say the same.
func TestABlockedPacketIsAskedAboutAgainOnlyIfTheAnswerMayBeAnother(t *testing.T) {
	for _, reads := range []bool{false, true} {
		fw := to(map[weft.NICID]Decision{1: ways(1)})
		slow := fw.slow()
		slow.Reads.Queues = reads
		r := newDarkRig(t, 2, Config{Firmware: slow, InputBuffer: 4, OutputBuffer: 1})
		r.LetAsk()
		r.connect(0)
		r.connect(1)
		r.arrive(0, 0, 7, 1)
		r.arrive(0, 0, 8, 1)
		b := r.take()
		r.answer(b)
		require.Len(t, r.blocked(), 1)
		_, ok := r.send(1)
		require.True(t, ok)
		require.Equal(t, reads, len(r.take().asks) == 1)
	}
}

func decided() {}

func TestAskingAllocatesNothing(t *testing.T) {
	testenv.Unraced(t)
	r := newAskingRig(t, 2, to(map[weft.NICID]Decision{1: ways(1)}), Config{})
	var b Asks
	answered := Decision{Candidates: ways(1).Candidates, Rule: "scripted"}
	r.cfg.Firmware.Batch = func(asks []*Ask) func() {
		for _, k := range asks {
			k.Decision = answered
		}
		return decided
	}
	one := func() {
		r.now++
		r.out.Reset()
		id := r.slots.take()
		sl := &r.slots.slot[id]
		*sl = slot{hdr: weft.Header{Dst: 1}}
		r.slots.push(&r.in[0], id)
		r.ports[0].end.Keep(0)
		r.advance(id, &r.out)
		r.Asks(r.now, &b)
		b.Decide()
		r.Answer(r.now, &b, &r.out)
		r.slots.remove(&r.out2(1).queue, id)
		r.ports[1].queued--
		r.slots.give(id)
	}
	one()
	require.Zero(t, testing.AllocsPerRun(100, one))
}

func (r *rig) out2(c channel) *output { return &r.Switch.out[c] }

// Whatever happens while asks are out, each packet ends once, and those of a flow in their order.
func TestWhateverHappensWhileTheFirmwareThinksTheLedgerBalances(t *testing.T) {
	for seed := range uint64(testenv.N(40, 1000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 1))
			fw := &scripted{registers: []Register{{Name: "r", Width: 8, Expire: 20}}}
			fw.route = func(pkt *weft.Header, _ Arrival, sw View) Decision {
				d := live(weft.PortID(pkt.Dst), 3)(pkt, Arrival{}, sw)
				d.Write = RegisterWrite{Do: pkt.Seq%3 == 0, Value: pkt.Seq}
				return d
			}
			r := newAskingRig(t, 4, fw, Config{
				Requeue: seed%2 == 0, Queueing: Queueing(seed / 2 % 2), OutputBuffer: 1 + int(seed%3),
			})
			var arrived, ended int
			var pending []*Asks
			ends := func() { ended += len(r.out.Drops) }
			leave := func(p weft.PortID) {
				if _, ok := r.send(p); ok {
					ended++
					r.free(p, 0)
					ends()
				}
			}
			for range 300 {
				switch p := weft.PortID(draw.IntN(4)); draw.IntN(10) {
				case 0, 1, 2:
					if r.portUp(p) {
						r.settle(p)
						ends()
						if r.neighbour[p].Credits(0) > 0 {
							arrived++
							r.arrive(p, 0, weft.NICID(draw.IntN(2)), weft.NICID(draw.IntN(4)))
							ends()
						}
					}
				case 3, 4:
					if r.portUp(p) {
						leave(p)
					}
				case 5, 6:
					if b := r.take(); len(b.asks) > 0 {
						b.Decide()
						pending = append(pending, b)
					}
				case 7:
					if n := len(pending); n > 0 {
						i := draw.IntN(n)
						b := pending[i]
						pending = append(pending[:i], pending[i+1:]...)
						r.call(func() { r.Answer(r.now, b, &r.out) })
						ends()
					}
				case 8:
					if r.portUp(p) {
						r.cut(p)
						ends()
					} else if draw.IntN(2) == 0 {
						r.connect(p)
						ends()
					}
				default:
					if draw.IntN(4) == 0 {
						r.load(fw.slow(), 2)
						ends()
					}
					r.now += weft.Time(draw.IntN(30))
					r.call(func() { r.Tick(r.now, &r.out) })
					ends()
				}
				waits := 0
				for i := range r.slots.slot {
					if a := r.slots.slot[i].asked; a == askWanted || a == askTaken {
						waits++
					}
				}
				require.LessOrEqual(t, waits+len(r.Snapshot().Blocked), r.Held())
				require.Equal(t, arrived, ended+r.Held())
			}
			for range 200 { // all is answered, and all that can go goes
				for _, b := range pending {
					r.call(func() { r.Answer(r.now, b, &r.out) })
					ends()
				}
				pending = nil
				for b := r.take(); len(b.asks) > 0; b = r.take() {
					r.answer(b)
					ends()
				}
				for p := range weft.PortID(4) {
					if !r.portUp(p) {
						r.connect(p)
						ends()
					}
					leave(p)
					r.settle(p)
					ends()
				}
			}
			require.Zero(t, r.Held(), "nobody waits for ever")
			require.Equal(t, arrived, ended)
		})
	}
}
