package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// instance is a guest with a memory of its own. One goroutine at a time calls it. It is the context
// of its calls, by which what the guest imports finds it.
type instance struct {
	context.Context
	module *Module
	guest  api.Module
	mem    api.Memory
	all    []byte // the memory as it was last
	work   api.MutableGlobal
	budget int64 // what a call may take
	fn     functions
	stack  [4]uint64
	starts bool           // it may print
	sw     switching.View // while it decides

	request, answer, end, queues uint32
	standing                     []standing // per switch
	positions                    map[*uint32]uint32
}

// Value implements [context.Context]: every call asks it what it does not have.
func (*instance) Value(any) any { return nil }

// functions are what a guest exports.
type functions struct {
	abi, init, alloc, route         api.Function
	check, registers, channelNumber api.Function // or nil
}

// initWork is the work that an instance may take to start, weft_init included.
const initWork = 1 << 28

// start makes an instance and has it declare what it is.
func (m *Module) start() (i *instance, declared []byte, err error) {
	i = &instance{
		Context: context.Background(), module: m, budget: initWork, starts: true,
		positions: map[*uint32]uint32{},
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if i.guest, err = m.runtime.InstantiateModule(i, m.compiled, config); err != nil {
		return nil, nil, fmt.Errorf("it does not start: %w", err)
	}
	i.mem = i.guest.Memory()
	i.work = i.guest.ExportedGlobal(workGlobal).(api.MutableGlobal)
	f := i.guest.ExportedFunction
	i.fn = functions{
		f("weft_abi"), f("weft_init"), f("weft_alloc"), f("weft_route"), f("weft_check"), f("weft_registers"),
		f("weft_channel_number"),
	}
	declared, err = i.init()
	i.starts = false
	if err != nil {
		return nil, nil, errors.Join(err, i.guest.Close(i))
	}
	return i, declared, nil
}

func (i *instance) init() ([]byte, error) {
	if f := i.guest.ExportedFunction("_initialize"); f != nil {
		if _, err := i.call(f); err != nil {
			return nil, fmt.Errorf("_initialize: %w", err)
		}
	}
	version, err := i.call(i.fn.abi)
	switch {
	case err != nil:
		return nil, fmt.Errorf("weft_abi: %w", err)
	case version != ABI:
		return nil, fmt.Errorf("it is written for version %d of the interface, and this is version %d: compile it with the "+
			"bindings of this version", version, ABI)
	}
	text, err := i.alloc(uint32(len(i.module.options)))
	if err != nil {
		return nil, err
	}
	copy(i.memory()[text:], i.module.options)
	at, err := i.call(i.fn.init, uint64(text), uint64(len(i.module.options)))
	if err != nil {
		return nil, fmt.Errorf("weft_init: %w", err)
	}
	w := &words{b: i.memory()}
	declared := w.block(at, declaredBytes, "itself")
	i.request, i.answer = le.Uint32(declared), le.Uint32(declared[4:])
	size := answerBytes + candidateBytes*uint32(w.number(declared[8:], MaxCandidates, "candidates")) +
		fieldsBytes*uint32(w.number(declared[12:], MaxCandidates, "fields"))
	w.block(i.request, requestBytes, "the request")
	w.block(i.answer, size, "the answer")
	i.end = i.answer + size
	i.budget = int64(w.number(declared[68:], MaxWork, "the work of a call"))
	if i.budget == 0 {
		i.budget = Work
	}
	if le.Uint32(declared[56:])&(readsRoom|readsOccupancy|readsCredits) != 0 && w.err == nil {
		if i.queues, err = i.alloc(3 * queuesBytes); err != nil {
			return nil, err
		}
	}
	return declared, w.err
}

// memory is all of the guest's memory. It is another slice after a call that has grown it.
func (i *instance) memory() []byte {
	if n := i.mem.Size(); int(n) != len(i.all) {
		i.all, _ = i.mem.Read(0, n)
	}
	return i.all
}

// call calls a function of the guest that takes up to four numbers and may return one.
func (i *instance) call(f api.Function, args ...uint64) (uint32, error) {
	i.work.Set(uint64(i.budget))
	copy(i.stack[:], args)
	if err := f.CallWithStack(i, i.stack[:]); err != nil {
		return 0, i.trapped(err)
	}
	return uint32(i.stack[0]), nil
}

// alloc is memory that the guest gives, for good.
func (i *instance) alloc(n uint32) (uint32, error) {
	at, err := i.call(i.fn.alloc, uint64(n))
	switch size := len(i.memory()); {
	case err != nil:
		return 0, fmt.Errorf("weft_alloc: %w", err)
	case at == 0:
		return 0, &Fault{
			Reason: fmt.Sprintf("weft_alloc has no %d bytes left", n),
			Advice: fmt.Sprintf("let the memory grow, to %d pages of 64 kB at most", MaxPages),
		}
	case uint64(at)+uint64(n) > uint64(size) || at%8 != 0:
		return 0, garbage("weft_alloc gives %d bytes at %d, of %d, or not at a multiple of 8", n, at, size)
	}
	return at, nil
}

// route asks for a decision.
func (i *instance) route(
	s *standing, t *tables.Tables, pkt *weft.Header, at switching.Arrival, sw switching.View, d *switching.Decision,
) error {
	if s.tables != t {
		if err := i.tell(s, t); err != nil {
			return err
		}
	}
	i.ask(i.memory(), s.at, s.table, pkt, at, sw)
	i.sw = sw
	_, err := i.call(i.fn.route)
	i.sw = nil
	if err != nil {
		return err
	}
	return i.decision(i.memory(), pkt, sw, s.registers, d)
}
