package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The bounds of a module.
const (
	MaxModule = 8 << 20 // bytes of the file
	MaxPages  = 512     // of 64 kB: the memory of an instance
	MaxTable  = 1 << 16 // functions in all tables
	maxLocals = 50_000  // of one function
)

// workGlobal is the export by which the host sets and reads the work that is left.
const workGlobal = "weft_work"

// meter rewrites a module so that its work is counted: a global, exported as workGlobal and first
// set to start, falls with each call of a function by the number of its variables and of its
// instructions outside loops, and with each pass of a loop by those of its body outside inner
// loops. What fills or copies n bytes costs n/8 more, and growing the memory by a page 1,024. When
// the global falls below zero, the module traps. So a guest that loops ends at the same instruction
// in every run.
//
// It refuses what it cannot count, and imports of anything but functions. All else is left to the
// validation of what it returns: code that names the new global, or the local that a function gets,
// is refused too. Of the sections that do not run only the names of functions are kept.
func meter(module []byte, start int64) ([]byte, error) {
	if len(module) > MaxModule {
		return nil, fmt.Errorf("the module has %d bytes, and may have %d", len(module), MaxModule)
	}
	if string(module[:min(8, len(module))]) != "\x00asm\x01\x00\x00\x00" {
		return nil, errors.New("it is no WebAssembly module of version 1")
	}
	m := metering{start: start, out: append(make([]byte, 0, 2*len(module)), module[:8]...)}
	for r := (&reader{b: module, at: 8}); r.more(); {
		id := r.byte()
		body := r.bytes(r.u32())
		if err := errors.Join(r.err, m.section(id, &reader{b: body})); err != nil {
			return nil, err
		}
	}
	if !m.counted || !m.exported || !m.memory {
		return nil, errors.New("it has no memory, or exports nothing")
	}
	return m.out, nil
}

// metering is the state of meter between sections, which come in a fixed order.
type metering struct {
	start    int64
	last     int // where the last section belongs
	out      []byte
	params   []uint32 // per type
	types    []uint32 // per function of the module's own: its type
	globals  uint32
	counted  bool // the work global is among the globals, as the last one
	exported bool
	memory   bool
}

// The sections that meter looks at. They come in the order of their numbers, but for the last,
// which comes before code.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionCode      = 10
	sectionDataCount = 12
)

func (m *metering) section(id byte, r *reader) error {
	order := 2 * int(id)
	if id == sectionDataCount {
		order = 2*sectionCode - 1
	}
	if id > sectionGlobal && !m.counted { // there is no section of globals
		if err := m.section(sectionGlobal, &reader{b: []byte{0}}); err != nil {
			return err
		}
	}
	if id != sectionCustom && order <= m.last || id > sectionDataCount {
		return fmt.Errorf("its section %d is not where it belongs", id)
	}
	if id != sectionCustom {
		m.last = order
	}
	body := r.b
	switch id {
	case sectionCustom:
		if name := r.bytes(r.u32()); string(name) != "name" {
			return r.err
		}
	case sectionType:
		for range r.count() {
			if r.byte() != 0x60 && r.err == nil {
				return errors.New("it has a type that is no function's")
			}
			n := r.u32()
			r.bytes(n)
			r.bytes(r.u32())
			m.params = append(m.params, n)
		}
	case sectionImport:
		for range r.count() {
			from := r.bytes(r.u32())
			name := r.bytes(r.u32())
			if r.byte() != 0 && r.err == nil {
				return fmt.Errorf("it imports %s.%s, which is no function", from, name)
			}
			r.u32()
		}
	case sectionFunction:
		for range r.count() {
			m.types = append(m.types, r.u32())
		}
	case sectionTable:
		total := uint64(0)
		for range r.count() {
			r.byte()
			if total += uint64(r.limits()); total > MaxTable { // and nothing grows one
				return fmt.Errorf("its tables have %d entries, and may have %d", total, MaxTable)
			}
		}
	case sectionMemory:
		for range r.count() {
			if least := r.limits(); least > MaxPages {
				return fmt.Errorf("its memory has %d pages of 64 kB, and may have %d: give it less stack, data or heap", least,
					MaxPages)
			}
			m.memory = true
		}
	case sectionGlobal:
		m.globals, m.counted = r.u32(), true
		entry := append(appendSigned([]byte{0x7e, 1, opI64Const}, m.start), opEnd) // a variable of 64 bits
		body = extended(m.globals, r.rest(), entry)
	case sectionExport:
		m.exported = true
		entry := append(append([]byte{byte(len(workGlobal))}, workGlobal...), 3)
		entry = binary.AppendUvarint(entry, uint64(m.globals))
		body = extended(r.u32(), r.rest(), entry)
	case sectionCode:
		var err error
		if body, err = m.code(r); err != nil {
			return err
		}
	}
	if r.err == nil {
		m.out = binary.AppendUvarint(append(m.out, id), uint64(len(body)))
		m.out = append(m.out, body...)
	}
	return r.err
}

// extended is a list of n entries with one more.
func extended(n uint32, entries, entry []byte) []byte {
	return append(append(binary.AppendUvarint(nil, uint64(n)+1), entries...), entry...)
}

func (m *metering) code(r *reader) ([]byte, error) {
	n := r.count()
	out := binary.AppendUvarint(nil, uint64(n))
	for i := range n {
		body := &reader{b: r.bytes(r.u32())}
		if r.err != nil || int(i) >= len(m.types) || int(m.types[i]) >= len(m.params) {
			return nil, errors.Join(r.err, errors.New("it has code without a type"))
		}
		f, err := m.function(body, m.params[m.types[i]])
		if err != nil {
			return nil, fmt.Errorf("its function %d, imports not counted: %w", i, err)
		}
		out = append(binary.AppendUvarint(out, uint64(len(f))), f...)
	}
	if r.more() {
		return nil, errors.New("it has more code than functions")
	}
	return out, nil
}

// charge is where work is taken off: so many instructions or, before one that fills, copies or
// grows, the length on top of the stack, shifted to the left.
type charge struct {
	at    int
	cost  int64
	bulk  bool
	shift int64
}

// function is the code of a function with params parameters: its locals, then its instructions.
func (m *metering) function(r *reader, params uint32) ([]byte, error) {
	groups, locals := r.count(), uint64(params)
	first := r.at
	for range groups {
		if locals += uint64(r.u32()); locals > maxLocals {
			return nil, fmt.Errorf("it has more than %d variables", maxLocals)
		}
		r.byte()
	}
	declared, begin := r.b[first:r.at], r.at
	w := walk{reader: r, locals: locals, globals: uint64(m.globals)}
	charges, err := w.charges()
	if err != nil {
		return nil, err
	}
	var out []byte
	if w.bulk {
		out = extended(groups, declared, []byte{1, 0x7f}) // one more of 32 bits, for the length
	} else {
		out = append(binary.AppendUvarint(nil, uint64(groups)), declared...)
	}
	for _, c := range charges {
		out = m.append(append(out, r.b[begin:c.at]...), c, locals)
		begin = c.at
	}
	return append(out, r.b[begin:]...), nil
}

// append writes the code of a charge. The local of that number keeps a length.
func (m *metering) append(out []byte, c charge, local uint64) []byte {
	index := func(op byte, index uint64) { out = binary.AppendUvarint(append(out, op), index) }
	value := func(v int64) { out = appendSigned(append(out, opI64Const), v) }
	if c.bulk {
		index(opLocalTee, local)
	}
	index(opGlobalGet, uint64(m.globals))
	switch {
	case !c.bulk:
		value(c.cost)
	case c.shift < 0:
		index(opLocalGet, local)
		out = append(out, opExtend)
		value(-c.shift)
		out = append(out, opShiftRight)
	default:
		index(opLocalGet, local)
		out = append(out, opExtend)
		value(c.shift)
		out = append(out, opShiftLeft)
	}
	out = append(out, opSubtract)
	index(opGlobalSet, uint64(m.globals))
	index(opGlobalGet, uint64(m.globals))
	value(0)
	return append(out, opLess, opIf, 0x40, opUnreachable, opEnd)
}

// appendSigned appends v as the format of WebAssembly has signed numbers.
func appendSigned(b []byte, v int64) []byte {
	for ; v < -64 || v > 63; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v)&0x7f)
}

// reader reads the binary format. After its first error it reads zeros.
type reader struct {
	b   []byte
	at  int
	err error
}

var errShort = errors.New("it ends too early")

func (r *reader) more() bool { return r.err == nil && r.at < len(r.b) }

func (r *reader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.b)-r.at) {
		r.err = errShort
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at]
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	v, n := uint64(0), 0
	if r.err == nil {
		v, n = binary.Uvarint(r.b[r.at:])
	}
	if n <= 0 || n > 5 || v > math.MaxUint32 {
		r.err = errors.Join(r.err, errShort)
		return 0
	}
	r.at += n
	return uint32(v)
}

// count is the length of a list, of which each entry takes a byte at least.
func (r *reader) count() uint32 {
	n := r.u32()
	if int(n) > len(r.b)-r.at {
		r.err = errShort
		return 0
	}
	return n
}

// signed skips a number of up to so many bytes.
func (r *reader) signed(most int) {
	for n := 1; r.byte() >= 0x80; n++ {
		if n == most {
			r.err = errors.Join(r.err, errShort)
			return
		}
	}
}

func (r *reader) rest() []byte { return r.bytes(uint32(len(r.b) - r.at)) }

// limits is the least size of a memory or table.
func (r *reader) limits() uint32 {
	most := r.byte()&1 != 0
	least := r.u32()
	if most {
		r.u32()
	}
	return least
}
