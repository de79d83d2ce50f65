package wasm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// forever is code that does not end; it counts in memory.
var forever = slices.Concat([]byte{opLoop, 0x40}, i32(64), i32(64), []byte{0x28, 2, 0}, i32(1),
	[]byte{0x6a, 0x36, 2, 0, 0x0c, 0, opEnd})

// routeItself is the number of weft_route in a guest without more imports.
const routeItself = 6

// Whatever a guest does for one destination, the fault says what and where, and the next packet is
// decided about by another instance.
func TestAGuestThatFailsIsAFaultAndTheNextDecisionIsRight(t *testing.T) {
	candidate := uint32(atAnswer + answerBytes)
	one := store(2, atAnswer, 1)
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"a trap":           {[]byte{opUnreachable}, "it trapped: unreachable"},
		"division by zero": {slices.Concat(i32(1), i32(0), []byte{0x6d, 0x1a}), "integer divide by zero"},
		"reads outside": {
			slices.Concat(i32(-4), []byte{0x28, 2, 0, 0x1a}),
			"it read or wrote outside its memory",
		},
		"writes outside": {store(4, 1<<20, 1), "it read or wrote outside its memory"},
		"a loop":         {forever, "it did not end: a call may take 1048576 instructions"},
		"recursion":      {[]byte{0x10, routeItself}, "it did not end"},
		"fills much": {slices.Concat([]byte{opLoop, 0x40}, i32(0), i32(0), i32(1<<16),
			[]byte{0xfc, 11, 0, 0x0c, 0, opEnd}), "it did not end"},
		"grows": {slices.Concat([]byte{opLoop, 0x40}, i32(64),
			[]byte{opMemoryGrow, 0, 0x1a, 0x0c, 0, opEnd}), "it did not end"},
		"prints": {
			slices.Concat(i32(0), i32(4), []byte{0x10, 2}),
			"weft.log may be called while it starts only",
		},
		"a register too far": {
			slices.Concat(i32(1), []byte{0x10, 1, 0x1a}),
			"it reads register 1, and has declared 1 here",
		},
		"too many candidates": {store(2, atAnswer, guestRoom+1), "it answers 9 candidates, and there are 8 at most"},
		"a port too far": {
			slices.Concat(one, store(2, candidate, 4)),
			`it sends the packet to port 4, and s3 has no such port, or nothing is there, by rule "by hand": mend`,
		},
		"a port to nothing": {slices.Concat(one, store(2, candidate, 3)), "it sends the packet to port 3, and"},
		"a VC too far": {
			slices.Concat(one, store(1, candidate+2, 2)),
			"it sends the packet into VC 2, and there are 2: the first is 0",
		},
		"fields too far": {
			slices.Concat(one, store(2, candidate+6, guestFields+1)),
			"it names fields 3, and has declared 2",
		},
		"a rule too far":    {store(2, atAnswer+answerRule, 2), "it answers rule 2, and has declared 2"},
		"a step of no kind": {store(1, atAnswer+answerTurn, 3), "it answers a step of kind 3, and there are 0 to 2"},
		"writes a register too far": {
			slices.Concat(store(1, atAnswer+answerWrite, 1), store(4, atAnswer+answerRegister, 1)),
			"it writes register 1, and has declared 1 here",
		},
		"writes too wide a value": {
			slices.Concat(store(1, atAnswer+answerWrite, 1), store(4, atAnswer+answerValue, 16)),
			"it writes 0x10 to state, which has 4 bits",
		},
		"a source route that cannot be": {
			slices.Concat(one, store(2, candidate+6, 1), store(1, candidate+guestRoom*candidateBytes+16+15,
				16)), "it answers a source route that there cannot be",
		},
		"sub-headers that cannot be": {
			slices.Concat(one, store(2, candidate+6, 1), store(1, candidate+guestRoom*candidateBytes+32,
				1)), "it answers sub-headers that there cannot be",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := guest{
				rules: []string{"by hand", "never"}, register: 4,
				route: slices.Concat(when(13, c.code), when(12, to(2, 1))),
			}.load(t)
			for range 2 {
				_, f := decide(m, somewhere(), 13)
				require.NotNil(t, f)
				require.ErrorContains(t, f, "firmware ./fw.wasm at s3, packet 12 of 1 -> 13, which came by p1 in vc1: ")
				require.ErrorContains(t, f, c.want)
				require.Equal(t, weft.NICID(13), f.Packet.Dst)
				d, f := decide(m, somewhere(), 12)
				require.Nil(t, f)
				require.Equal(t, switching.Decision{
					Rule: "by hand", Candidates: []switching.Candidate{{Port: 2, VC: 1, Fields: weft.NewFields()}},
				}, d)
			}
		})
	}
}

// The stack of a trap has the guest's functions.
func TestATrapHasTheGuestsStack(t *testing.T) {
	_, f := decide(guest{rules: []string{"r"}, route: []byte{opUnreachable}}.load(t), somewhere(), 0)
	require.NotNil(t, f)
	require.Contains(t, f.Stack, "decide()")
	require.ErrorContains(t, f, "see the functions below, innermost first\n\t")
}

// A guest that does not end is stopped at the same instruction in every run: it has counted as far,
// and as much work is left.
func TestALoopEndsAtTheSameInstructionInEveryRun(t *testing.T) {
	ends := map[[2]uint64]bool{}
	m := guest{rules: []string{"r"}, declare: map[int]uint32{68: 12345}, route: forever}.load(t)
	for range 5 {
		i, _, err := m.start()
		require.NoError(t, err)
		sw := somewhere()
		_, err = ask(i, &weft.Header{}, switching.Arrival{}, sw)
		require.ErrorContains(t, err, "it did not end: a call may take 12345 instructions")
		ends[[2]uint64{uint64(le.Uint32(i.memory()[64:])), i.work.Get()}] = true
	}
	require.Len(t, ends, 1)
	for end := range ends {
		require.Equal(t, uint64((12345-2)/8), end[0], "passes of 8 instructions, and 2 outside")
		require.Less(t, int64(end[1]), int64(0))
	}
}

// The memory of an instance has a bound, and a guest that comes to it is told so.
func TestMemoryGrowsToItsBound(t *testing.T) {
	grow := slices.Concat(i32(MaxPages), []byte{opMemoryGrow, 0, 0x1a}, i32(MaxPages-1), []byte{opMemoryGrow, 0, 0x1a})
	m := guest{rules: []string{"r"}, route: slices.Concat(grow, to(1, 0))}.load(t)
	i, _, err := m.start()
	require.NoError(t, err)
	d, err := ask(i, &weft.Header{}, switching.Arrival{}, somewhere())
	require.NoError(t, err)
	require.Len(t, d.Candidates, 1)
	require.Len(t, i.memory(), MaxPages<<16, "once too far, which changes nothing, and then as far as it goes")
}

func TestWhatIsNotDeclaredIsNotWritten(t *testing.T) {
	for _, reads := range []uint32{0, readsAll} {
		m := guest{rules: []string{"r"}, declare: map[int]uint32{56: reads}, route: to(1, 0)}.load(t)
		i, _, err := m.start()
		require.NoError(t, err)
		sw := somewhere()
		pkt := weft.Header{
			Src: 1, Dst: 2, Seq: 3, Size: 4, Injected: 5, Generation: 6, Hops: 7, Reroutes: 8, Traced: true,
			Fields: weft.Fields{
				PortField: 9, Path: 10, Layers: 11, Misroute: 12, Route: weft.SourceRoute{13, 14},
				Sub: weft.SubHeaders{15, 16, 17, 18},
			},
		}
		_, err = ask(i, &pkt, switching.Arrival{Port: 1, VC: 1, From: weft.RolePeer}, sw)
		require.NoError(t, err)
		r := i.memory()[atRequest : atRequest+requestBytes]
		require.Equal(t, reads != 0, sw.Asked == switching.Asked{Queues: true, Draw: true, Now: true})
		require.Equal(t, []byte{1, 0, 1, byte(weft.RolePeer), 2}, r[requestPort:requestVCs+1])
		if reads == 0 {
			require.Equal(t, switching.Asked{}, sw.Asked)
			require.Equal(t, make([]byte, requestBytes-requestFields), r[requestFields:])
			continue
		}
		got, err := fields(r[requestFields:requestSrc])
		require.ErrorContains(t, err, "cannot be", "14 is no length of a source route")
		require.Equal(t, pkt.Fields, got)
		require.Equal(t, []uint16{6, 7, 8, 1}, []uint16{
			le.Uint16(r[104:]), le.Uint16(r[106:]), le.Uint16(r[108:]),
			le.Uint16(r[110:]),
		})
		require.Equal(t, []uint64{3, 5, 7, 9}, []uint64{
			le.Uint64(r[88:]), le.Uint64(r[96:]), le.Uint64(r[112:]),
			le.Uint64(r[120:]),
		})
		for n, want := range []byte{3, 0, 3} { // room, occupancy, credits
			at := le.Uint32(r[requestRoom+4*n:])
			require.Equal(t, []byte{want, 0, want, 0, want, 0, want, 0, want, 0, want, 0, 0, 0, 0, 0}, i.memory()[at:at+16])
		}
	}
}

func TestAModuleThatCannotBeUsedIsRefused(t *testing.T) {
	vector := slices.Concat([]byte{0xfd, 12}, make([]byte, 16), []byte{0x1a})
	for want, g := range map[string]guest{
		"written for version 7 of the interface, and this is version 1: compile it with the bindings": {abi: 7},
		"it does not export weft_route: include the bindings": {
			without: "weft_route",
		},
		"it imports env.printf: there are weft.port_up, weft.ports_up, weft.register": {
			imports: []foreign{{"env", "printf", 0}},
		},
		"it imports weft.clock: there are": {
			imports: []foreign{{"weft", "clock", 0}},
		},
		"it imports weft.log as () -> (), and it is (i32, i32) -> ()": {
			imports: []foreign{{"weft", "log", 0}},
		},
		"its memory has 513 pages of 64 kB, and may have 512: give it less stack": {pages: 513},
		"its tables have 65537 entries, and may have 65536":                       {table: 65537},
		"it uses vector instructions: compile without them":                       {route: vector},
		"it grows a table": {
			table: 1,
			route: slices.Concat([]byte{0xd0, 0x70}, i32(1), []byte{0xfc, 15, 0, 0x1a}),
		},
		"it uses instruction 0x12":                    {route: []byte{0x12, 0}},
		"it does not validate: invalid function":      {route: i32(1)},
		"it names a variable that there is not":       {route: []byte{0x20, 0, 0x1a}},
		"function 3, imports not counted: it names a": {route: []byte{0x23, 1, 0x1a}},
		"it has no name":                              {text: map[int]string{16: ""}},
		"option step: a number":                       {text: map[int]string{32: "step: a number"}},
		"it declares its name of 1025 bytes": {text: map[int]string{16: string(make([]byte,
			1025))}},
		"it declares the request at 65535, outside its":    {declare: map[int]uint32{0: 65535}},
		"it declares the answer at 65530, outside":         {declare: map[int]uint32{4: 65530}},
		"it declares 4097 for candidates, and may declare": {declare: map[int]uint32{8: MaxCandidates + 1}},
		"it declares 2000 rules, and may declare 1024":     {declare: map[int]uint32{76: 2000}},
		"it declares rules at 80000, outside its memory":   {declare: map[int]uint32{72: 80000, 76: 1}},
		"it declares 17 for virtual channels":              {declare: map[int]uint32{44: 17}},
		"it declares 128 for what it reads":                {declare: map[int]uint32{56: 128}},
		"decides by destinations and reads the source too": {declare: map[int]uint32{
			52: isDestinationBased,
			56: readsHeader,
		}},
		"weft_init: it did not end: a call may take 268435456 instructions": {init: forever},
		"weft_init: it trapped: unreachable":                                {init: []byte{opUnreachable}},
		"weft.port_up may be called in weft_route only": {init: slices.Concat(i32(0),
			[]byte{0x10, 0, 0x1a})},
		"it does not start": {start: true, route: []byte{opUnreachable}},
	} {
		_, err := New(t.Context(), "./fw.wasm", g.module(), "")
		require.ErrorContains(t, err, "firmware ./fw.wasm: ", want)
		require.ErrorContains(t, err, want)
	}
	_, err := New(t.Context(), "./fw.wasm", []byte("#!/bin/sh\n"), "")
	require.ErrorContains(t, err, "firmware ./fw.wasm: it is no WebAssembly module of version 1: compile it as the "+
		"examples")
	_, err = New(t.Context(), "./fw.wasm", make([]byte, MaxModule+1), "")
	require.ErrorContains(t, err, "the module has 8388609 bytes, and may have 8388608")
	_, err = Open(t.Context(), "./no.wasm", "")
	require.ErrorContains(t, err, "firmware: open ./no.wasm: no such file")
}

// One module serves the fabrics of many tests. Switches that it has seen take no more memory, and
// when there is none for one more, another instance has some.
func TestManyFabricsTakeNoMoreMemoryThanOne(t *testing.T) {
	m := guest{rules: []string{"r"}, route: to(1, 0), pages: 2}.load(t) // it does not let its memory grow
	for k := range 2000 {
		sw := somewhere()
		if k >= 1000 {
			sw.At.Roles, sw.At.Switch = slices.Repeat(sw.At.Roles, 60), weft.SwitchID(k)
		}
		_, f := decide(m, sw, 1)
		require.Nil(t, f)
		i := m.free[int(sw.At.Switch)%len(m.free)].Load()
		if k < 1000 {
			require.Less(t, i.standing[3].at, uint32(atHeap+1000))
		}
	}
}
