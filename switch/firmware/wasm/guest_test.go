package wasm

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// guest is a module made by hand: what a compiler would not do.
type guest struct {
	imports  []foreign // the first three are weft's and always there
	declare  map[int]uint32
	text     map[int]string // texts of the declaration, by where they are
	rules    []string
	register uint32 // the bits of the one register, 0: none
	pages    uint32
	table    uint32
	abi      byte
	init     []byte // runs in weft_init
	route    []byte // the code of weft_route
	without  string // an export that is missing
	start    bool   // weft_route is the start function
}

// foreign is a function of another module, of one of the types.
type foreign struct {
	module, name string
	kind         byte
}

// Where a guest made by hand has its parts.
const (
	atDeclared  = 1024
	atRequest   = 2048
	atAnswer    = 4096
	atTexts     = 8192
	atHeap      = 16384
	guestRoom   = 8 // candidates that its answer has room for
	guestFields = 2 // and fields
)

func u32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func i32(v int32) []byte { return appendSigned([]byte{0x41}, int64(v)) }

func vec(entries ...[]byte) []byte {
	return append(u32(uint32(len(entries))), slices.Concat(entries...)...)
}

func sized(b ...[]byte) []byte {
	all := slices.Concat(b...)
	return append(u32(uint32(len(all))), all...)
}

func str(s string) []byte { return append(u32(uint32(len(s))), s...) }

// store is the code that writes a number of so many bytes.
func store(bytes int, at uint32, v int32) []byte {
	op := map[int]byte{1: 0x3a, 2: 0x3b, 4: 0x36}[bytes]
	return slices.Concat(i32(int32(at)), i32(v), []byte{op, 0}, u32(0))
}

// when is code that runs for packets to one destination only.
func when(dst int32, code ...[]byte) []byte {
	return slices.Concat(i32(atRequest+requestDst), []byte{0x28, 2, 0}, i32(dst), []byte{0x46, opIf, 0x40},
		slices.Concat(code...), []byte{opEnd})
}

// to is the code of an answer: one candidate, by rule 0.
func to(port, vc int32) []byte {
	return slices.Concat(store(2, atAnswer, 1), store(2, atAnswer+answerBytes, port), store(1, atAnswer+answerBytes+2, vc))
}

func (g guest) module() []byte {
	// types: 0 ()->(), 1 (i32)->i32, 2 ()->i32, 3 (i32,i32)->i32, 4 (i32)->i64, 5 (i32,i32)->(),
	// 6 (i32,i64,i32)->i32, 7 (i32,i32,i32,i32)->i32, 8 (i32)->()
	types := vec([]byte{0x60, 0, 0}, []byte{0x60, 1, 0x7f, 1, 0x7f}, []byte{0x60, 0, 1, 0x7f},
		[]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f},
		[]byte{0x60, 1, 0x7f, 1, 0x7e}, []byte{0x60, 2, 0x7f, 0x7f, 0}, []byte{
			0x60, 3, 0x7f, 0x7e, 0x7f, 1,
			0x7f,
		}, []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f}, []byte{0x60, 1, 0x7f, 0})
	imports := [][]byte{
		slices.Concat(str("weft"), str("port_up"), []byte{0, 1}), slices.Concat(str("weft"), str("register"), []byte{0, 4}),
		slices.Concat(str("weft"), str("log"), []byte{0, 5}),
	}
	for _, i := range g.imports {
		imports = append(imports, slices.Concat(str(i.module), str(i.name), []byte{0, i.kind}))
	}
	first := uint32(len(imports))
	declared, texts := make([]byte, declaredBytes), []byte(nil)
	put := func(at int, v uint32) { le.PutUint32(declared[at:], v) }
	text := func(b []byte, s string) {
		le.PutUint32(b, uint32(atTexts+len(texts)))
		le.PutUint32(b[4:], uint32(len(s)))
		texts = append(texts, s...)
	}
	put(0, atRequest)
	put(4, atAnswer)
	put(8, guestRoom)
	put(12, guestFields)
	text(declared[16:], "by hand")
	for at, s := range g.text {
		text(declared[at:], s)
	}
	rules := make([]byte, 8*len(g.rules))
	for i, r := range g.rules {
		text(rules[8*i:], r)
	}
	registers := make([]byte, 8+24)
	text(registers[8:], "state")
	texts = append(texts, make([]byte, (8-len(texts)%8)%8)...)
	put(72, uint32(atTexts+len(texts)))
	put(76, uint32(len(g.rules)))
	texts = append(texts, rules...)
	atRegisters := uint32(atTexts + len(texts))
	if g.register > 0 {
		le.PutUint32(registers, atRegisters+8)
		le.PutUint32(registers[4:], 1)
		le.PutUint32(registers[16:], g.register)
	}
	texts = append(texts, registers...)
	for at, v := range g.declare {
		put(at, v)
	}
	pages := max(1, g.pages)
	heap := slices.Concat([]byte{0x23, 0, 0x23, 0, 0x20, 0, 0x6a}, i32(7), []byte{0x6a}, i32(-8),
		[]byte{0x71, 0x24, 0, opEnd})
	bodies := [][]byte{
		sized([]byte{0}, i32(int32(max(1, g.abi))), []byte{opEnd}), // weft_abi
		sized([]byte{0}, heap), // weft_alloc
		sized([]byte{0}, g.init, i32(atDeclared), []byte{opEnd}), // weft_init
		sized([]byte{0}, g.route, []byte{opEnd}),                 // weft_route
		sized([]byte{0}, i32(int32(atRegisters)), []byte{opEnd}), // weft_registers
	}
	var exports [][]byte
	for i, name := range []string{"weft_abi", "weft_alloc", "weft_init", "weft_route", "weft_registers"} {
		if name != g.without {
			exports = append(exports, slices.Concat(str(name), []byte{0}, u32(first+uint32(i))))
		}
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, b []byte) { out = append(append(out, id), sized(b)...) }
	section(sectionType, types)
	section(sectionImport, vec(imports...))
	section(sectionFunction, []byte{5, 2, 1, 3, 0, 1})
	if g.table > 0 {
		section(sectionTable, append([]byte{1, 0x70, 0}, u32(g.table)...))
	}
	section(sectionMemory, append([]byte{1, 0}, u32(pages)...))
	section(sectionGlobal, vec(slices.Concat([]byte{0x7f, 1}, i32(atHeap), []byte{opEnd})))
	section(sectionExport, vec(exports...))
	if g.start {
		section(8, u32(first+3))
	}
	section(sectionCode, vec(bodies...))
	section(11, vec(slices.Concat([]byte{0}, i32(atDeclared), []byte{opEnd}, sized(declared)),
		slices.Concat([]byte{0}, i32(atTexts), []byte{opEnd}, sized(texts))))
	named := vec(slices.Concat(u32(first+3), str("decide")))
	section(sectionCustom, slices.Concat(str("name"), []byte{1}, sized(named)))
	section(sectionCustom, slices.Concat(str(".debug_line"), make([]byte, 9)))
	return out
}

// load starts a guest made by hand.
func (g guest) load(tb testing.TB) *Module {
	tb.Helper()
	m, err := New(tb.Context(), "./fw.wasm", g.module(), "")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close(tb.Context())) })
	return m
}

// somewhere is a switch with four ports, of which the last is not connected.
func somewhere() *switching.Still {
	return &switching.Still{
		At: &weft.Place{Switch: 3, Name: "s3", Roles: []weft.Role{
			weft.RoleNIC, weft.RolePeer, weft.RolePeer,
			weft.RoleNone,
		}},
		Channels: 2, Registers: []uint64{5}, Free: 3, Random: 7, Time: 9,
	}
}

// decide is what a module decides about a packet, or the fault.
func decide(m *Module, sw switching.View, dst weft.NICID) (d switching.Decision, f *Fault) {
	defer func() {
		if v := recover(); v != nil {
			f = v.(*Fault)
		}
	}()
	pkt := weft.Header{Src: 1, Dst: dst, Seq: 12, Fields: weft.NewFields()}
	return m.firmware.Route(&pkt, switching.Arrival{Port: 1, VC: 1, From: weft.RolePeer}, sw), nil
}

// ask has one instance decide.
func ask(i *instance, pkt *weft.Header, at switching.Arrival, sw switching.View) (d switching.Decision, err error) {
	s, err := i.placed(sw.Place())
	if err != nil {
		return d, err
	}
	err = i.route(s, nil, pkt, at, sw, &d)
	return d, err
}
