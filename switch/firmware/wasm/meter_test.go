package wasm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/weft-fabric/weft/harness/testenv"
)

// program draws the code of a function from a seed: (i32, i32) -> (i32), with two more locals and
// one of 64 bits. Its loops end, as each has a count.
type program struct {
	*rand.Rand
	b      []byte
	depth  int
	left   int // instructions that it may still have
	labels int
}

// The locals of a program: two parameters, two values, and the count of a loop at each depth.
const (
	programLocals = 4
	programDepth  = 5
)

func (p *program) op(b ...byte) { p.b = append(p.b, b...) }

// value pushes an i32.
func (p *program) value() {
	p.left--
	switch p.IntN(10) {
	case 9: // the size of the table
		p.op(0xfc, 16, 0)
	case 0:
		p.b = append(p.b, i32(int32(p.Uint32()))...)
	case 1:
		p.b = append(p.b, i32(int32(p.IntN(100)))...)
	case 2, 3:
		p.op(0x20, byte(p.IntN(programLocals)))
	case 4:
		p.op(0x23, 0) // a global
	case 5: // a load
		p.address()
		p.op(0x28, 2, byte(p.IntN(100)))
	case 6:
		if p.left > 0 {
			p.value()
			p.op(0xc0) // i32.extend8_s
			return
		}
		p.op(0x3f, 0) // memory.size
	default:
		if p.left <= 0 {
			p.op(0x20, 0)
			return
		}
		p.value()
		p.value()
		if p.IntN(40) == 0 {
			p.op(0x6d) // a division, which may trap
			return
		}
		p.op([]byte{0x46, 0x48, 0x6a, 0x6b, 0x6c, 0x71, 0x73, 0x74, 0x76}[p.IntN(9)])
	}
}

// address pushes an i32 that is mostly within the memory.
func (p *program) address() {
	if p.IntN(200) == 0 {
		p.b = append(p.b, i32(-5)...)
		return
	}
	p.value()
	p.b = append(append(p.b, i32(0xfff)...), 0x71)
}

func (p *program) statement() {
	p.left--
	nested := p.depth < programDepth
	switch k := p.IntN(16); {
	case k == 14: // a part of the table is copied, then a function of it is called: the first two are there
		p.op(0x41, byte(p.IntN(3)), 0x41, 0, 0x41, 2, 0xfc, 14, 0, 0)
		p.value()
		p.value()
		p.op(0x41, byte(p.IntN(2)), 0x11, 0, 0, 0x21, byte(p.IntN(programLocals)))
	case k == 15: // memory.init, of a segment of 40 bytes
		p.address()
		p.op(0x41, byte(p.IntN(20)), 0x41, byte(p.IntN(21)), 0xfc, 8, 0, 0)
	case k < 3:
		p.value()
		p.op(0x21, byte(p.IntN(programLocals)))
	case k == 3:
		p.value()
		p.op(0x24, 0)
	case k == 4:
		p.address()
		p.value()
		p.op(0x36, 2, byte(p.IntN(100)))
	case k == 5: // memory.fill
		p.address()
		p.value()
		p.address()
		p.op(0xfc, 11, 0)
	case k == 6: // memory.copy
		p.address()
		p.address()
		p.address()
		p.op(0xfc, 10, 0, 0)
	case k == 7 && p.IntN(4) == 0: // memory.grow
		p.b = append(p.b, i32(int32(p.IntN(3)))...)
		p.op(opMemoryGrow, 0, 0x1a)
	case k == 7 && p.labels > 0: // br_table
		n := p.IntN(3)
		p.value()
		p.op(0x0e, byte(n))
		for range n + 1 {
			p.op(byte(p.label()))
		}
	case k == 8 && p.labels > 0:
		p.value()
		p.op(0x0d, byte(p.label()))
	case k == 9 && nested:
		p.value()
		p.op(opIf, 0x40)
		p.body()
		if p.IntN(2) == 0 {
			p.op(opElse)
			p.body()
		}
		p.op(opEnd)
	case k == 10 && nested:
		p.op(opBlock, 0x40)
		p.labels++
		p.body()
		p.labels--
		p.op(opEnd)
	case k == 11 && nested: // a loop of a few passes
		count := byte(programLocals + p.depth)
		p.b = append(append(p.b, i32(int32(p.IntN(6)))...), 0x21, count)
		p.op(opLoop, 0x40)
		labels := p.labels
		p.labels = 0 // its body leaves by no label: it could come back by one
		p.body()
		p.labels = labels
		p.op(0x20, count, 0x41, 1, 0x6b, 0x22, count)
		p.op(0x41, 0, 0x4a, 0x0d, 0, opEnd) // while it is above zero
	case k == 12: // a call of the other function, which calls none
		p.value()
		p.value()
		p.op(0x10, 1, 0x21, byte(p.IntN(programLocals)))
	case k == 13: // a number of 64 bits and one with a fraction, which saturates
		p.value()
		p.op(0xac, 0x42, 0xff, 0xff, 0x80, 0x7f, 0x7e, 0xb9, 0xfc, 2, 0x21, byte(p.IntN(programLocals)))
	}
}

// label is one of the blocks around that are open since the innermost loop.
func (p *program) label() int { return p.IntN(p.labels) }

func (p *program) body() {
	p.depth++
	for n := p.IntN(5); n > 0 && p.left > 0; n-- {
		p.statement()
	}
	p.depth--
}

// module is a module of two functions: run, and one that it calls.
func (p *program) module() []byte {
	code := func() []byte {
		p.b, p.left = nil, 200
		for p.left > 0 {
			p.statement()
		}
		p.value()
		p.op(opEnd)
		return sized([]byte{1, 2 + programDepth, 0x7f}, p.b)
	}
	leaf := sized([]byte{0, 0x20, 0, 0x20, 1, 0x6c, 0x23, 0, 0x6a, 0x24, 0, 0x23, 0, opEnd})
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, b []byte) { out = append(append(out, id), sized(b)...) }
	section(sectionType, vec([]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}))
	section(sectionFunction, []byte{2, 0, 0})
	section(sectionTable, []byte{1, 0x70, 0, 4})
	section(sectionMemory, []byte{1, 1, 1, 8})
	section(sectionGlobal, vec([]byte{0x7f, 1, 0x41, 3, opEnd}))
	section(sectionExport, vec(append(str("run"), 0, 0), append(str("memory"), 2, 0), append(str("global"), 3, 0)))
	section(9, []byte{1, 0, 0x41, 0, opEnd, 2, 1, 1}) // the table begins with the other function, twice
	section(sectionDataCount, []byte{1})
	section(sectionCode, vec(code(), leaf))
	section(11, append([]byte{1, 1, 40}, make([]byte, 40)...))
	return out
}

// outcome is all that can be seen of a run of a program: the result or the trap, the global, the
// memory.
func outcome(t *testing.T, module []byte) (seen []string, left int64) {
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { require.NoError(t, r.Close(ctx)) }()
	m, err := r.Instantiate(ctx, module)
	require.NoError(t, err)
	for _, args := range [][2]uint64{{0, 1}, {7, 0xfffffff0}, {1 << 31, 3}} {
		got, err := m.ExportedFunction("run").Call(ctx, args[0], args[1])
		text := fmt.Sprint(got, m.ExportedGlobal("global").Get())
		if err != nil {
			text += strings.SplitN(err.Error(), "\n", 2)[0]
		}
		memory, _ := m.Memory().Read(0, m.Memory().Size())
		seen = append(seen, text, string(memory))
	}
	if g := m.ExportedGlobal(workGlobal); g != nil {
		left = int64(g.Get())
	}
	return seen, left
}

// A module whose work is counted computes what it computed before, and traps where it did.
func TestAModuleWhoseWorkIsCountedDoesTheSame(t *testing.T) {
	seed := testenv.Seed(t, 5)
	traps, worked := 0, map[int64]bool{}
	n := testenv.Levels(20_000, 1000, 150)
	for k := range n {
		plain := (&program{Rand: rand.New(rand.NewPCG(seed, uint64(k)))}).module()
		counted, err := meter(plain, 1<<40)
		require.NoError(t, err)
		want, _ := outcome(t, plain)
		got, left := outcome(t, counted)
		require.True(t, slices.Equal(want, got), "program %d: %q %q %q, not %q %q %q", k, got[0], got[2], got[4], want[0],
			want[2], want[4])
		traps += strings.Count(want[0], "error")
		require.Less(t, left, int64(1<<40))
		worked[left] = true
	}
	require.Greater(t, len(worked), n/2)
	require.Positive(t, traps)
	require.Less(t, traps, n*9/10)
}

// Whatever a file holds, counting its work ends without a panic, and what comes of it validates
// just if the file does.
func FuzzMeter(f *testing.F) {
	for k := range 5 {
		f.Add((&program{Rand: rand.New(rand.NewPCG(1, uint64(k)))}).module())
	}
	f.Add(guest{rules: []string{"r"}, route: forever, table: 3}.module())
	b, err := os.ReadFile("../examples/c/deterministic_link.wasm")
	require.NoError(f, err)
	f.Add(b)
	r := wazero.NewRuntimeWithConfig(f.Context(), wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(MaxPages))
	validates := func(t *testing.T, b []byte) error {
		c, err := r.CompileModule(t.Context(), b)
		if err == nil {
			err = c.Close(t.Context())
		}
		return err
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		counted, err := meter(b, 1)
		if err != nil || bytes.Contains(b, []byte(workGlobal)) {
			return
		}
		before, after := validates(t, b), validates(t, counted)
		require.Equal(t, before == nil, after == nil, "%v, and counted %v", before, after)
	})
}

func TestTheWorkGlobalIsNobodyElses(t *testing.T) {
	module := guest{rules: []string{"r"}, route: to(1, 0)}.module()
	counted, err := meter(module, 77)
	require.NoError(t, err)
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	_, err = r.CompileModule(t.Context(), counted)
	require.NoError(t, err)
	again, err := meter(counted, 77)
	require.NoError(t, err)
	_, err = r.CompileModule(t.Context(), again)
	require.ErrorContains(t, err, "weft_work", "a guest that exports one of this name does not validate")
}
