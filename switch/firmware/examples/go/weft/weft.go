//go:build wasip1

// Package weft is for firmware of Weft's switches in Go, compiled to WebAssembly: the interface of
// docs/reference/wasm.md, version 1. Compile a firmware with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o fw.wasm
//
// It calls [Serve] in an init function. It decides by the [Request] and by [PortUp] and
// [ReadRegister] alone; what it keeps in variables is lost or seen by other switches. A decision
// that allocates nothing never waits for the garbage collector.
package weft

import (
	"strings"
	"unsafe"
)

// What a port leads to.
const (
	None uint8 = iota
	Up
	Down
	NIC
	Peer
)

// NoPort is no port.
const NoPort uint16 = 0xFFFF

// Kinds of step.
const (
	Straight uint8 = iota
	Reroute
	UTurn
)

// What a firmware declares.
const (
	Anything, Trees, Grids                          = 0, 1, 2
	Links, Switches, OneFault                       = 1, 2, 4
	DestinationBased, Symmetric, Notifies, Requeues = 1, 2, 4, 8

	ReadsFields, ReadsHeader, ReadsRoom, ReadsOccupancy uint32 = 1, 2, 4, 8
	ReadsCredits, ReadsDraw, ReadsNow                   uint32 = 16, 32, 64
)

// Firmware is what a firmware declares that it is.
type Firmware struct {
	Name, About string
	Rules       []string // an answer names one by its index
	Options     []Option
	Engine      string // that computes forwarding tables, as updn; "": it has no tables

	On, VCs, Tolerates, Flags, Reads, MostHops, LeastRoom uint32

	Work uint32 // instructions that a call may take; 0: as many as usual

	Route     func(q *Request, a *Answer)
	Registers func(p *Place) []Register         // or nil
	Check     func(p *Place, vcs uint32) string // or nil; why it cannot run there
}

// Option is an option that a firmware knows.
type Option struct{ Name, Values, About string }

// Register is state of a switch: bits, and picoseconds until it expires, 0 for never.
type Register struct {
	Name   string
	Width  uint32
	Expire int64
}

// Fields are the routing fields of a header.
type Fields struct {
	PortField    int16
	Path, Layers uint16
	Misroute     uint64
	Route        [2]uint64
	Sub          [4]uint64
}

// Request is what is asked. Parts that Firmware.Reads does not name are zero.
type Request struct {
	place                      uint32
	Dst                        uint32
	Port                       uint16 // that the packet came by
	VC, From, VCs              uint8
	Fields                     Fields
	Src, Size                  uint32
	Seq                        uint64
	Injected                   int64
	Generation, Hops, Reroutes uint16
	Traced                     uint8
	Draw                       uint64
	Now                        int64
	room, occupancy, credits   uint32
	table                      uint32
}

// Hop is how a packet may leave. In VC SameVC it stays in that which it came in; NoPort: it cannot.
type Hop struct{ Port, VC uint16 }

// SameVC is in the tables where a packet stays in its virtual channel.
const SameVC uint16 = 0xFF

type table struct {
	vcs, perLayer, paths, nics, entries uint32
	row, rows                           uint32
}

type counted struct{ count, at uint32 }

// Ways are those of the switch's forwarding table for a packet to an address of a NIC that came by
// a port in a VC, of a firmware with an Engine; in tables per layer NoPort is the port of one that
// enters the layer here.
func (q *Request) Ways(dst uint32, path, port uint16, vc uint8) []Hop {
	t := at[table](q.table)
	e := dst
	if t.perLayer != 0 {
		e += uint32(vc) * t.nics
	}
	e = e*t.paths + uint32(path)
	if dst >= t.nics || uint32(path) >= t.paths || e >= t.entries {
		return nil
	}
	row := *at[uint16](t.row + 2*e)
	if row == 0xFFFF {
		return nil
	}
	r := at[counted](t.rows + 8*uint32(row))
	way := uint32(port)*t.vcs + uint32(vc)
	switch {
	case r.count == 1:
		way = 0
	case t.perLayer != 0 && port == NoPort:
		way = r.count - 1
	case t.perLayer != 0:
		way = uint32(port)
	}
	if way >= r.count {
		return nil
	}
	w := at[counted](r.at + 8*way)
	return unsafe.Slice(at[Hop](w.at), w.count)
}

// Candidate is a way that the packet may take. Its fields are 0 for those of the packet, or n for
// the n-th of the answer, from 1.
type Candidate struct {
	Port            uint16
	VC, Class, Need uint8
	_               uint8
	Fields          uint16
}

// Answer is zero before each call up to the candidates. None: the packet is discarded.
type Answer struct {
	count, Rule uint16
	Turn        uint8
	Notify      bool
	write       uint8
	register    uint32
	value       uint64
	candidates  [256]Candidate
	Fields      [4]Fields
}

// Place is where a switch stands.
type Place struct {
	Number, Ports                                   uint32
	roles, neighbours, name, nameLength, tree, grid uint32
}

// Tree is a place in a tree, as weft.Tree. Its functions are those there.
type Tree struct {
	K, N, Tier, Down, Ups, Above, Below, Prefix uint32
	w, radix, ports, numbers, position          uint32
	positions                                   uint32
}

// Dim is one dimension of a mesh or torus.
type Dim struct{ Size, At, Stride, Wrap uint32 }

type text struct{ at, length uint32 }

type declaration struct {
	request, answer, candidates, fields                         uint32
	name, about, err                                            text
	on, vcs, tolerates, flags, reads, mostHops, leastRoom, work uint32
	rules, options, engine                                      text
}

type register struct {
	name   text
	width  uint32
	expire int64
}

var (
	start    func(options string) (*Firmware, error)
	firmware *Firmware
	request  Request
	answer   Answer
	declared declaration
	kept     []any // what the host has the address of
)

// Serve says which firmware the module is.
func Serve(f func(options string) (*Firmware, error)) { start = f }

//go:wasmimport weft port_up
func portUp(p uint32) uint32

//go:wasmimport weft ports_up
func portsUp(first uint32, which uint64) uint64

//go:wasmimport weft register
func readRegister(i uint32) uint64

// PortUp reports whether the link at a port is up.
func PortUp(p uint16) bool { return portUp(uint32(p)) != 0 }

// PortsUp is which of the ports first + k, for each bit k of which, have a link that is up. It
// takes as long as one PortUp.
func PortsUp(first uint16, which uint64) uint64 { return portsUp(uint32(first), which) }

// ReadRegister is the value of a register of this switch.
func ReadRegister(i uint32) uint64 { return readRegister(i) }

func address[T any](p *T) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

// at is what is at an address that the host gave.
func at[T any](address uint32) *T {
	p := uintptr(address)
	return *(**T)(unsafe.Pointer(&p))
}

func textOf(s string) text { return text{address(unsafe.StringData(s)), uint32(len(s))} }

// listOf keeps a list for the host.
func listOf[T any](list []T) text {
	kept = append(kept, list)
	return text{address(unsafe.SliceData(list)), uint32(len(list))}
}

//go:wasmexport weft_abi
func abi() uint32 { return 1 }

//go:wasmexport weft_alloc
func alloc(n uint32) uint32 { return listOf(make([]uint64, n/8+1)).at }

//go:wasmexport weft_init
func initialize(options, length uint32) uint32 {
	f, err := start(strings.Clone(unsafe.String(at[byte](options), length)))
	declared = declaration{
		request: address(&request), answer: address(&answer),
		candidates: uint32(len(answer.candidates)), fields: uint32(len(answer.Fields)),
	}
	if err != nil {
		f = &Firmware{Name: "none"}
		declared.err = textOf(err.Error())
	}
	firmware = f
	d := &declared
	d.name, d.about, d.engine = textOf(f.Name), textOf(f.About), textOf(f.Engine)
	d.on, d.vcs, d.tolerates, d.flags, d.reads = f.On, f.VCs, f.Tolerates, f.Flags, f.Reads
	d.mostHops, d.leastRoom, d.work = f.MostHops, f.LeastRoom, f.Work
	var rules, options3 []text
	for _, r := range f.Rules {
		rules = append(rules, textOf(r))
	}
	for _, o := range f.Options {
		options3 = append(options3, textOf(o.Name), textOf(o.Values), textOf(o.About))
	}
	d.rules, d.options = listOf(rules), listOf(options3)
	d.options.length /= 3
	kept = append(kept, err)
	return address(d)
}

//go:wasmexport weft_route
func route() { firmware.Route(&request, &answer) }

//go:wasmexport weft_registers
func registers(place uint32) uint32 {
	var list []register
	if firmware.Registers != nil {
		for _, r := range firmware.Registers(at[Place](place)) {
			list = append(list, register{textOf(r.Name), r.Width, r.Expire})
		}
	}
	return listOf([]text{listOf(list)}).at
}

//go:wasmexport weft_check
func check(place, vcs uint32) uint32 {
	if firmware.Check == nil {
		return 0
	}
	why := firmware.Check(at[Place](place), vcs)
	if why == "" {
		return 0
	}
	return listOf([]text{textOf(why)}).at
}

// PlaceAt is the place that weft_channel_number is given, which a firmware that numbers its
// channels exports itself.
func PlaceAt(address uint32) *Place { return at[Place](address) }

// Place is where the switch stands.
func (q *Request) Place() *Place { return at[Place](q.place) }

func (q *Request) queue(table uint32, p uint16, vc uint8) uint16 {
	if table == 0 || uint32(p) >= q.Place().Ports || vc >= q.VCs {
		return 0
	}
	return *at[uint16](table + 2*(uint32(p)*uint32(q.VCs)+uint32(vc)))
}

// Room is how many packets the output queue of a port and VC can take.
func (q *Request) Room(p uint16, vc uint8) uint16 { return q.queue(q.room, p, vc) }

// Occupancy is how many packets wait in it.
func (q *Request) Occupancy(p uint16, vc uint8) uint16 { return q.queue(q.occupancy, p, vc) }

// Credits is how many packets the neighbour can take.
func (q *Request) Credits(p uint16, vc uint8) uint16 { return q.queue(q.credits, p, vc) }

// Empty reports whether nothing has been offered.
func (a *Answer) Empty() bool { return a.count == 0 }

// Offer offers one more way.
func (a *Answer) Offer(p uint16, vc uint8) *Candidate {
	c := &a.candidates[a.count]
	a.count++
	*c = Candidate{Port: p, VC: vc}
	return c
}

// To has the packet go one way.
func (a *Answer) To(p uint16, vc uint8, rule uint16, turn uint8) {
	a.Offer(p, vc)
	a.Rule, a.Turn = rule, turn
}

// Write has a register written when the decision is taken.
func (a *Answer) Write(register uint32, value uint64) {
	a.write, a.register, a.value = 1, register, value
}

// Role is what a port leads to.
func (p *Place) Role(port uint16) uint8 {
	if uint32(port) >= p.Ports {
		return None
	}
	return *at[uint8](p.roles + uint32(port))
}

// Name is that of the switch.
func (p *Place) Name() string { return unsafe.String(at[byte](p.name), p.nameLength) }

// Tree is the place in a tree; nil unless the topology is one.
func (p *Place) Tree() *Tree { return at[Tree](p.tree) }

// Dims are the dimensions of a mesh or torus, and how many NICs each switch has; nil unless it is
// one.
func (p *Place) Dims() (dims []Dim, nics uint32) {
	if p.grid == 0 {
		return nil, 0
	}
	return unsafe.Slice(at[Dim](p.grid+8), *at[uint32](p.grid + 4)), *at[uint32](p.grid)
}

// Digit is digit i of the switch.
func (t *Tree) Digit(i uint32) uint32 { return *at[uint32](t.w + 4*i) }

// Radix is how many down ports a switch of a tier has.
func (t *Tree) Radix(tier uint32) uint32 { return *at[uint32](t.radix + 4*tier) }

// Position is the number that the digits of d make.
func (t *Tree) Position(d uint32) uint32 {
	switch {
	case t.position == 0:
		return d
	case d < t.positions:
		return *at[uint32](t.position + 4*d)
	}
	return 1<<32 - 1
}

// HasDown reports whether d is below this switch.
func (t *Tree) HasDown(d uint32) bool {
	return uint64(t.Position(d))-uint64(t.Prefix)*uint64(t.Above) < uint64(t.Above)
}

func (t *Tree) port(j uint32) uint16 {
	switch {
	case t.ports == 0:
		return uint16(j)
	case j < t.Down+t.Ups:
		return uint16(*at[uint32](t.ports + 4*j))
	}
	return NoPort
}

func (t *Tree) index(p uint16) int32 {
	switch {
	case t.numbers == 0:
		return int32(p)
	case uint32(p) < t.Down+t.Ups:
		return *at[int32](t.numbers + 4*uint32(p))
	}
	return -1
}

// DownPort is the port towards d, which is below this switch.
func (t *Tree) DownPort(d uint32) uint16 { return t.port(t.Position(d) % t.Above / t.Below) }

// DownAt is down port j.
func (t *Tree) DownAt(j uint32) uint16 { return t.port(j) }

// Up is up port j.
func (t *Tree) Up(j uint32) uint16 { return t.port(t.Down + j) }

// DefaultUp is the up port that a packet for d takes without faults.
func (t *Tree) DefaultUp(d uint32) uint16 { return t.Up(t.Position(d) / t.Below % max(t.Ups, 1)) }

// UpIndex is the j for which Up(j) is p, or -1.
func (t *Tree) UpIndex(p uint16) int32 {
	if j := t.index(p) - int32(t.Down); j >= 0 && j < int32(t.Ups) {
		return j
	}
	return -1
}

// DownIndex is the j for which DownAt(j) is p, or -1.
func (t *Tree) DownIndex(p uint16) int32 {
	if j := t.index(p); j < int32(t.Down) {
		return j
	}
	return -1
}

// Leaf reports whether the switch is next to NICs.
func (t *Tree) Leaf() bool { return t.Tier+1 == t.N }

// LiveUp is the first live up port from index j on, but for one; NoPort if there is none.
func (t *Tree) LiveUp(j uint32, skip uint16) uint16 {
	for ; j < t.Ups; j++ {
		if p := t.Up(j); p != skip && PortUp(p) {
			return p
		}
	}
	return NoPort
}

// OtherDown is the first live down port after p in cyclic order, but for p; NoPort if there is
// none.
func (t *Tree) OtherDown(p uint16) uint16 {
	for i := uint32(1); i <= t.Down; i++ {
		if q := t.DownAt((uint32(t.DownIndex(p)) + i) % t.Down); q != p && PortUp(q) {
			return q
		}
	}
	return NoPort
}
