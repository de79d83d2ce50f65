package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// imported is a function that the guest calls. Its arguments are in the stack, and its result, if
// it has one, is put there.
type imported = func(i *instance, guest api.Module, stack []uint64)

// ours are the functions of module weft.
var ours = map[string]imported{
	"port_up": func(i *instance, _ api.Module, stack []uint64) {
		p, up := uint32(stack[0]), uint64(0)
		if p <= math.MaxUint16 && i.deciding("port_up").PortUp(weft.PortID(p)) {
			up = 1
		}
		stack[0] = up
	},
	"ports_up": func(i *instance, _ api.Module, stack []uint64) {
		sw, first, up := i.deciding("ports_up"), uint64(uint32(stack[0])), uint64(0)
		for which := stack[1]; which != 0; which &= which - 1 {
			k := bits.TrailingZeros64(which)
			if p := first + uint64(k); p <= math.MaxUint16 && sw.PortUp(weft.PortID(p)) {
				up |= 1 << k
			}
		}
		stack[0] = up
	},
	"register": func(i *instance, _ api.Module, stack []uint64) {
		sw, r := i.deciding("register"), uint32(stack[0])
		if n := len(i.standing[sw.Place().Switch].registers); int64(r) >= int64(n) {
			panic(fmt.Errorf("it reads register %d, and has declared %d here", r, n))
		}
		stack[0] = sw.Register(int(r))
	},
	"log": func(i *instance, guest api.Module, stack []uint64) {
		if !i.starts {
			panic(errors.New("weft.log may be called while it starts only"))
		}
		i.module.print(read(guest, uint32(stack[0]), uint32(stack[1])))
	},
}

// deciding is the switch that is asked.
func (i *instance) deciding(name string) switching.View {
	if i.sw == nil {
		panic(fmt.Errorf("weft.%s may be called in weft_route only", name))
	}
	return i.sw
}

// wasi are the functions of WASI that have an answer, always the same one: there is no time, no
// chance and nothing to open. Of what is printed, what comes while an instance starts is kept. All
// others answer that there is no such function.
var wasi = map[string]imported{
	"args_get": answers, "environ_get": answers, "sched_yield": answers,
	"args_sizes_get": nothing, "environ_sizes_get": nothing,
	"clock_time_get": func(_ *instance, guest api.Module, stack []uint64) {
		put(guest, uint32(stack[2]), le.AppendUint64(nil, 1e18)) // in 2001
		stack[0] = 0
	},
	"random_get": func(_ *instance, guest api.Module, stack []uint64) {
		at, n := uint32(stack[0]), uint32(stack[1])
		stack[0] = wasiInvalid
		if n <= 4096 {
			for k, b := 0, read(guest, at, n); k < len(b); k++ {
				b[k] = byte(k*167 + 13)
			}
			stack[0] = 0
		}
	},
	"fd_write": func(i *instance, guest api.Module, stack []uint64) {
		fd, at, n, to := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
		if stack[0] = wasiInvalid; n > 16 {
			return
		}
		total := uint32(0)
		for v := read(guest, at, 8*n); len(v) > 0; v = v[8:] {
			text := read(guest, le.Uint32(v), le.Uint32(v[4:]))
			total += uint32(len(text))
			if i.starts && (fd == 1 || fd == 2) {
				i.module.print(text)
			}
		}
		put(guest, to, le.AppendUint32(nil, total))
		stack[0] = 0
	},
	"proc_exit": func(_ *instance, _ api.Module, stack []uint64) {
		panic(fmt.Errorf("it ended itself with code %d", uint32(stack[0])))
	},
}

// What WASI calls errors.
const (
	wasiInvalid  = 28
	wasiNoSystem = 52
)

func answers(_ *instance, _ api.Module, stack []uint64) { stack[0] = 0 }

func nothing(_ *instance, guest api.Module, stack []uint64) {
	put(guest, uint32(stack[0]), make([]byte, 4))
	put(guest, uint32(stack[1]), make([]byte, 4))
	stack[0] = 0
}

func missing(_ *instance, _ api.Module, stack []uint64) {
	if len(stack) > 0 {
		stack[0] = wasiNoSystem
	}
}

// read is a part of the guest's memory.
func read(guest api.Module, at, n uint32) []byte {
	if b, ok := guest.Memory().Read(at, n); ok {
		return b
	}
	panic(errors.New("out of bounds memory access"))
}

func put(guest api.Module, at uint32, b []byte) { copy(read(guest, at, uint32(len(b))), b) }

// provide makes the modules that the guest imports from, with what it imports only.
func (m *Module) provide(ctx context.Context) error {
	modules := map[string]wazero.HostModuleBuilder{}
	for _, f := range m.compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		fn := ours[name]
		if from == "wasi_snapshot_preview1" {
			if fn = wasi[name]; fn == nil {
				fn = missing
			}
		} else if from != "weft" || fn == nil {
			return fmt.Errorf("it imports %s.%s: there are weft.port_up, weft.ports_up, weft.register, weft.log and "+
				"wasi_snapshot_preview1, so link it without what needs others",
				from, name)
		}
		if want := signatures[name]; from == "weft" && want != signature(f) {
			return fmt.Errorf("it imports weft.%s as %s, and it is %s: take the bindings of this version", name, signature(f),
				want)
		}
		if modules[from] == nil {
			modules[from] = m.runtime.NewHostModuleBuilder(from)
		}
		modules[from].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, guest api.Module,
			stack []uint64,
		) {
			fn(ctx.(*instance), guest, stack)
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range modules {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// signatures of what a guest imports from module weft, and exports.
var signatures = map[string]string{
	"port_up": "(i32) -> (i32)", "ports_up": "(i32, i64) -> (i64)", "register": "(i32) -> (i64)",
	"log":      "(i32, i32) -> ()",
	"weft_abi": "() -> (i32)", "weft_init": "(i32, i32) -> (i32)", "weft_alloc": "(i32) -> (i32)",
	"weft_route": "() -> ()",
	"weft_check": "(i32, i32) -> (i32)", "weft_registers": "(i32) -> (i32)",
	"weft_channel_number": "(i32, i32, i32) -> (i32)",
	"_initialize":         "() -> ()",
}

// required are the functions that every guest exports.
var required = []string{"weft_abi", "weft_init", "weft_alloc", "weft_route"}

// exports checks what the guest exports.
func (m *Module) exports() error {
	all := m.compiled.ExportedFunctions()
	for _, name := range required {
		if all[name] == nil {
			return fmt.Errorf("it does not export %s: include the bindings, and have the linker export it", name)
		}
	}
	for name, want := range signatures {
		if f := all[name]; f != nil && signature(f) != want {
			return fmt.Errorf("it exports %s as %s, and it is %s: take the bindings of this version", name, signature(f), want)
		}
	}
	return nil
}

func signature(f api.FunctionDefinition) string {
	types := func(list []api.ValueType) string {
		var names []string
		for _, t := range list {
			names = append(names, api.ValueTypeName(t))
		}
		return "(" + strings.Join(names, ", ") + ")"
	}
	return types(f.ParamTypes()) + " -> " + types(f.ResultTypes())
}
