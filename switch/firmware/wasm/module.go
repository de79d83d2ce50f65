// Package wasm runs a WebAssembly module as the firmware of switches.
//
// The interface between the two is in docs/reference/wasm.md; bindings for C, Rust and Go are in
// switch/firmware/examples. A guest decides by what it is told and by nothing else: it has no
// clock, no chance and no files, its memory and its work have bounds, and whatever it does, its
// host goes on. What a switch remembers is in registers, as for every firmware, so few instances
// serve all switches.
package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agnivade/levenshtein"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Work is how many instructions a call may take unless the guest declares another number, up to
// MaxWork. Those of a loop and of a function are counted with all their branches.
const (
	Work    = 1 << 20
	MaxWork = 1<<31 - 1
)

// Module is a WebAssembly module that has declared which firmware it is.
type Module struct {
	Log string // what it printed when it started

	firmware           switching.Firmware // what it declares
	file, options      string
	runtime            wazero.Runtime
	compiled           wazero.CompiledModule
	reads              uint32
	candidates, fields int // what its answers have room for
	rules              []string
	logging            bool // the first instance starts
	free               []atomic.Pointer[instance]
}

// declaredBytes is the size of what weft_init returns the address of.
const declaredBytes = 96

// Open reads a module and starts it with options, "key=value,key=value". The context bounds the
// compilation.
func Open(ctx context.Context, path, options string) (*Module, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("firmware: %w", err)
	}
	return New(ctx, path, b, options)
}

// New is Open for a module that has been read. The path is for errors.
func New(ctx context.Context, path string, module []byte, options string) (*Module, error) {
	m := &Module{file: path, options: options, logging: true, free: make([]atomic.Pointer[instance],
		max(8, runtime.GOMAXPROCS(0)))}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(MaxPages).
		WithCoreFeatures(api.CoreFeaturesV2 &^ api.CoreFeatureSIMD)
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.open(ctx, module); err != nil {
		return nil, errors.Join(fmt.Errorf("firmware %s: %w", path, err), m.Close(ctx))
	}
	return m, nil
}

func (m *Module) open(ctx context.Context, module []byte) error {
	if len(m.options) > maxText {
		return fmt.Errorf("its options have %d bytes, and may have %d", len(m.options), maxText)
	}
	counted, err := meter(module, initWork)
	if err != nil {
		return fmt.Errorf("%w: compile it as the examples in switch/firmware/examples are", err)
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, counted); err != nil {
		return fmt.Errorf("it does not validate: %w: compile it again", err)
	}
	if err := errors.Join(m.exports(), m.provide(ctx)); err != nil {
		return err
	}
	i, declared, err := m.start()
	if err != nil {
		return err
	}
	m.logging = false
	if err := m.declare(&words{b: i.memory()}, declared); err != nil {
		return errors.Join(err, i.guest.Close(i))
	}
	f := &m.firmware
	f.Check = m.check
	if f.Engine == "" {
		f.Route = m.routeBy(nil)
	} else {
		f.Programmed = func(p *tables.Program) switching.Firmware {
			fw := m.firmware
			fw.Route, fw.Program = m.routeBy(p.Tables), p
			return fw
		}
	}
	if i.fn.registers != nil {
		f.Registers = m.registers
	}
	if i.fn.channelNumber != nil {
		f.ChannelNumber = m.channelNumber
	}
	m.put(i, 0)
	return nil
}

// declare reads what the guest declares that it is.
func (m *Module) declare(w *words, d []byte) error {
	m.candidates, m.fields = int(le.Uint32(d[8:])), int(le.Uint32(d[12:]))
	f := &m.firmware
	f.Name, f.About = w.text(d[16:], "its name"), w.text(d[24:], "what it is about")
	refused := w.text(d[32:], "what is wrong with its options")
	f.Engine = w.text(d[88:], "its engine")
	f.On, f.VCs = switching.Shape(w.number(d[40:], uint32(switching.Grids), "what it routes")), w.number(d[44:],
		weft.MaxVCs, "virtual channels")
	bears, is := w.number(d[48:], 7, "the faults it bears"), w.number(d[52:], isAll, "what it is")
	f.Tolerance = switching.Tolerance{Links: bears&1 != 0, Switches: bears&2 != 0, One: bears&4 != 0}
	f.DestinationBased, f.Symmetric, f.Notifies = is&isDestinationBased != 0, is&isSymmetric != 0, is&notifies != 0
	if is&mayRequeue != 0 {
		f.CheckRequeue = func(*weft.Place) error { return nil }
	}
	m.reads = uint32(w.number(d[56:], readsAll, "what it reads"))
	f.MostHops = w.number(d[60:], weft.MaxHops, "the most hops")
	if room := w.number(d[64:], weft.MaxBuffer, "the least room"); room > 1 {
		f.LeastRoom = func(*weft.Place) int { return room }
	}
	w.list(d[72:], MaxRules, 8, "rules", func(e []byte) { m.rules = append(m.rules, w.text(e, "a rule")) })
	w.list(d[80:], MaxOptions, 24, "options", func(e []byte) {
		f.Options = append(f.Options, switching.Option{
			Name: w.text(e, "an option"), Values: w.text(e[8:], "an option"), About: w.text(e[16:], "an option"),
			Set: func(string) bool { return false }, // Open has set them
		})
	})
	switch {
	case w.err != nil:
		return fmt.Errorf("%w: mend what weft_init returns", w.err)
	case f.Name == "":
		return errors.New("it has no name: mend what weft_init returns")
	case f.DestinationBased && m.reads&readsHeader != 0:
		return errors.New("it decides by destinations and reads the source too: drop one of the two in what weft_init " +
			"returns")
	}
	if err := m.known(); err != nil {
		return err
	}
	if refused != "" {
		return fmt.Errorf("option %s", refused)
	}
	return nil
}

// known checks that the guest knows the options that it was given.
func (m *Module) known() error {
	var names, described []string
	for _, o := range m.firmware.Options {
		names, described = append(names, o.Name), append(described, o.Name+"="+o.Values)
	}
	for field := range strings.SplitSeq(m.options, ",") {
		key, _, valued := strings.Cut(field, "=")
		switch ours := slices.Contains(names, key); {
		case m.options == "" || ours && valued:
			continue
		case ours:
			return fmt.Errorf("expected %s=VALUE", key)
		}
		hint, least := "", 1+len(key)/3
		for _, n := range names {
			if d := levenshtein.ComputeDistance(key, n); d <= least {
				hint, least = fmt.Sprintf(" did you mean %q?", n), d-1
			}
		}
		return fmt.Errorf("unknown option %q:%s known: %s", key, hint, cmp.Or(strings.Join(described, ", "), "none"))
	}
	return nil
}

// Firmware is the module as a firmware, with the options that it was opened with. Its Route panics
// with a [*Fault] when the guest traps or answers what cannot be; the instance is then given up.
func (m *Module) Firmware() switching.Firmware { return m.firmware }

// take is an instance that nobody uses: the one that last decided for this switch, if it can be
// had.
func (m *Module) take(sw weft.SwitchID) (*instance, error) {
	for k := range m.free {
		slot := &m.free[(int(sw)+k)%len(m.free)]
		if i := slot.Load(); i != nil && slot.CompareAndSwap(i, nil) {
			return i, nil
		}
	}
	i, _, err := m.start()
	return i, err
}

// put gives an instance back.
func (m *Module) put(i *instance, sw weft.SwitchID) {
	for k := range m.free {
		if m.free[(int(sw)+k)%len(m.free)].CompareAndSwap(nil, i) {
			return
		}
	}
	_ = i.guest.Close(i) // there are more than can decide at once
}

// Close frees what the module holds. Nobody may use it any more.
func (m *Module) Close(ctx context.Context) error { return m.runtime.Close(ctx) }

// routeBy is the routing function of switches with these tables; nil: with none.
func (m *Module) routeBy(t *tables.Tables) func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
	return func(pkt *weft.Header, at switching.Arrival, sw switching.View) (d switching.Decision) {
		place := sw.Place()
		err := m.with(place, func(i *instance, s *standing) error { return i.route(s, t, pkt, at, sw, &d) })
		if err != nil {
			f := &Fault{Reason: err.Error(), Advice: "see its file"}
			errors.As(err, &f)
			f.File, f.Switch, f.Packet, f.At, f.Rule = m.file, place.Name, *pkt, at, d.Rule
			panic(f)
		}
		return d
	}
}

// with calls f with an instance and a switch as it knows it. The instance is given up when f fails,
// or when it has no memory for one more switch: then another has.
func (m *Module) with(place *weft.Place, f func(i *instance, s *standing) error) (err error) {
	for range 2 {
		var i *instance
		if i, err = m.take(place.Switch); err != nil {
			return err
		}
		s, full := i.placed(place)
		if err = full; err == nil {
			err = f(i, s)
		}
		if err == nil {
			m.put(i, place.Switch)
			return nil
		}
		err = errors.Join(err, i.guest.Close(i))
		if full == nil {
			break
		}
	}
	return err
}

func (m *Module) check(place *weft.Place, vcs int) error {
	why := ""
	if err := m.with(place, func(i *instance, s *standing) error {
		if i.fn.check == nil {
			return nil
		}
		at, err := i.call(i.fn.check, uint64(s.at), uint64(vcs))
		if err != nil || at == 0 {
			return err
		}
		w := &words{b: i.memory()}
		why = w.text(w.block(at, 8, "why it cannot run"), "why it cannot run")
		return w.err
	}); err != nil {
		return fmt.Errorf("of %s, at %s: %w", m.file, place.Name, err)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// registers panics where check fails.
func (m *Module) registers(place *weft.Place) (list []switching.Register) {
	if err := m.with(place, func(_ *instance, s *standing) error {
		list = slices.Clone(s.registers)
		return nil
	}); err != nil {
		panic(fmt.Errorf("the registers of firmware %s at %s: %w", m.file, place.Name, err))
	}
	return list
}

func (m *Module) channelNumber(place *weft.Place, p weft.PortID, vc weft.VC) (n int) {
	if err := m.with(place, func(i *instance, s *standing) error {
		v, err := i.call(i.fn.channelNumber, uint64(s.at), uint64(p), uint64(vc))
		n = int(int32(v))
		return err
	}); err != nil {
		panic(fmt.Errorf("the number of a channel of firmware %s at %s: %w", m.file, place.Name, err))
	}
	return n
}

// print keeps what the first instance prints while it starts.
func (m *Module) print(text []byte) {
	if m.logging {
		m.Log += string(text[:min(len(text), maxLog-len(m.Log))])
	}
}
