package wasm

import (
	"errors"
	"fmt"
)

// The instructions that are written or looked at.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opLocalGet    = 0x20
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opMemoryGrow  = 0x40
	opI64Const    = 0x42
	opLess        = 0x53 // i64.lt_s
	opSubtract    = 0x7d // i64
	opShiftLeft   = 0x86 // i64
	opShiftRight  = 0x88 // i64, unsigned
	opExtend      = 0xad // i64.extend_i32_u
)

// walk goes through the instructions of one function.
type walk struct {
	*reader
	locals, globals uint64
	bulk            bool // one fills, copies or grows
}

// charges are where work is taken off, in order: the first at the beginning.
func (w *walk) charges() (list []charge, err error) {
	list = []charge{{at: w.at, cost: int64(w.locals)}}
	regions := []int{0} // per block that is open: the charge of its instructions
	for w.more() && len(regions) > 0 {
		before := w.at
		op := w.byte()
		in := regions[len(regions)-1]
		list[in].cost++
		switch op {
		case opBlock, opIf:
			w.signed(5)
			regions = append(regions, in)
		case opLoop:
			w.signed(5)
			regions = append(regions, len(list))
			list = append(list, charge{at: w.at})
		case opEnd:
			regions = regions[:len(regions)-1]
		default:
			shift, bulk := w.operands(op)
			if bulk {
				w.bulk = true
				list = append(list, charge{at: before, bulk: true, shift: shift})
			}
		}
	}
	if w.err == nil && (len(regions) > 0 || w.at < len(w.b)) {
		w.err = errors.New("its blocks do not match")
	}
	return list, w.err
}

// operands skips what belongs to an instruction. Bulk: its work is the length on top of the stack,
// shifted to the left.
func (w *walk) operands(op byte) (shift int64, bulk bool) {
	switch {
	// br, br_if, call, table.get, table.set, ref.func
	case op == 0x0c || op == 0x0d || op == 0x10 || op == 0x25 || op == 0x26 || op == 0xd2:
		w.u32()
	case op == 0x0e: // br_table
		for range w.count() {
			w.u32()
		}
		w.u32()
	case op == 0x11: // call_indirect
		w.u32()
		w.u32()
	case op == 0x1c: // select with a type
		w.bytes(w.u32())
	case op >= 0x20 && op <= 0x22: // local
		w.below(w.locals)
	case op == opGlobalGet || op == opGlobalSet:
		w.below(w.globals)
	case op >= 0x28 && op <= 0x3e: // load and store
		w.u32()
		w.u32()
	case op == 0x3f || op == 0xd0: // memory.size, ref.null
		w.byte()
	case op == opMemoryGrow:
		w.byte()
		return 10, true
	case op == 0x41: // i32.const
		w.signed(5)
	case op == opI64Const:
		w.signed(10)
	case op == 0x43: // f32.const
		w.bytes(4)
	case op == 0x44: // f64.const
		w.bytes(8)
	case op == 0xfc:
		return w.prefixed()
	case op <= 0x01 || op == opElse || op == 0x0f || op == 0x1a || op == 0x1b || op >= 0x45 && op <= 0xc4 || op == 0xd1:
	case op == 0xfd:
		w.refuse("it uses vector instructions: compile without them, as clang does without -msimd128")
	case op == 0xfe:
		w.refuse("it uses threads: compile without them, as clang does without -matomics")
	default:
		w.refuse(fmt.Sprintf("it uses instruction 0x%02x, which is not in WebAssembly 2.0", op))
	}
	return 0, false
}

// prefixed are the instructions of two bytes: conversions that saturate, and those on many bytes or
// entries.
func (w *walk) prefixed() (shift int64, bulk bool) {
	switch op := w.u32(); op {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case 8, 10: // memory.init, memory.copy
		w.u32()
		w.u32()
		return -3, true
	case 11: // memory.fill
		w.u32()
		return -3, true
	case 9, 13, 16: // data.drop, elem.drop, table.size
		w.u32()
	case 12, 14: // table.init, table.copy
		w.u32()
		w.u32()
		return 0, true
	case 17: // table.fill
		w.u32()
		return 0, true
	case 15:
		w.refuse("it grows a table: give it its size at the start")
	default:
		w.refuse(fmt.Sprintf("it uses instruction 0xfc %d, which is not in WebAssembly 2.0", op))
	}
	return 0, false
}

func (w *walk) below(n uint64) {
	if uint64(w.u32()) >= n && w.err == nil {
		w.err = errors.New("it names a variable that there is not")
	}
}

func (w *walk) refuse(why string) {
	if w.err == nil {
		w.err = errors.New(why)
	}
}
