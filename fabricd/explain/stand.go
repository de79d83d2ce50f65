package explain

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	switching "github.com/weft-fabric/weft/switch"
)

// stand is one switch, standing still, and what the firmware keeps there.
type stand struct {
	still     switching.Still
	registers []switching.Register
}

// stand is the switch, with the firmware's registers; the error says why it cannot run the
// firmware.
func (f *fabric) stand(id weft.SwitchID, vcs int) (s *stand, err error) {
	place := f.graph.Place(id)
	defer f.guard(place, &err)
	if err := f.fw.Fits(place, vcs); err != nil {
		return nil, within("routing", err)
	}
	s, ok := f.stands[id]
	if ok {
		return s, nil
	}
	s = &stand{still: switching.Still{At: place}, registers: f.fw.RegistersAt(place)}
	for _, r := range s.registers {
		if r.Width < 1 || r.Width > 64 {
			return nil, within("routing",
				fmt.Errorf("firmware %s declares register %q of %d bits, expected 1 to 64", f.routing, r.Name, r.Width))
		}
	}
	s.still.Registers = make([]uint64, len(s.registers))
	f.stands[id] = s
	return s, nil
}

// port finds a port of a switch, connected or not.
func (f *fabric) port(id weft.SwitchID, r Ref) (weft.PortID, error) {
	sw := f.graph.Switches[id]
	switch {
	case r.kind == unset:
		return 0, errors.New("missing: name a port by its number or by the neighbour it leads to")
	case r.kind == byNumber:
		if r.number < 0 || r.number >= sw.Ports {
			return 0, fmt.Errorf("port %d of %s: expected 0 to %d, or the name of a neighbour", r.number, sw.Name, sw.Ports-1)
		}
		return weft.PortID(r.number), nil
	}
	l, err := f.graph.LinkBetween(sw.Name, r.name)
	if err != nil {
		return 0, err
	}
	return l.Other(l.Other(id.Node()).Node).Port, nil
}

// packet is the packet asked about, in front of a switch.
func (f *fabric) packet(q *Question, id weft.SwitchID, in weft.PortID) (h weft.Header, err error) {
	h = q.Header
	h.VC = weft.VC(q.VC)
	if h.Dst, err = resolve(q.Dst, "NIC", len(f.graph.NICs), f.graph.NICByName); err != nil {
		return h, within("header", within("dst", err))
	}
	h.Src = 0
	if q.Src.IsSet() {
		if h.Src, err = resolve(q.Src, "NIC", len(f.graph.NICs), f.graph.NICByName); err != nil {
			return h, within("header", within("src", err))
		}
	} else if from, _, _ := f.graph.Peer(weft.End{Node: id.Node(), Port: in}); from.Node.Kind == weft.KindNIC {
		h.Src = weft.NICID(from.Node.Index)
	}
	for _, sub := range h.Sub {
		if int(sub.To()) >= len(f.graph.Switches) {
			return h, within("header",
				within("sub", fmt.Errorf("switch %d: expected 0 to %d", sub.To(), len(f.graph.Switches)-1)))
		}
	}
	f.address(&h, id, in)
	if f.fw.Source != nil && h.Route.Len()+h.Sub.Len() == 0 && f.graph.Place(id).Roles[in] == weft.RoleNIC {
		f.fw.Source(f.graph.Place(id), in, &h)
	}
	return h, nil
}

// address writes into a packet that comes from a NIC, and whose address and layer were not asked
// for, those that the NIC would send it with; of several, the first.
func (f *fabric) address(h *weft.Header, id weft.SwitchID, in weft.PortID) {
	given := weft.Address{Path: h.Path, Layers: h.Layers, VC: h.VC}
	if f.fw.Addresses == nil || given != (weft.Address{}) || f.graph.Place(id).Roles[in] != weft.RoleNIC {
		return
	}
	if list := f.fw.Addresses(f.graph.Place(id), in, h.Dst); len(list) > 0 && !slices.Contains(list, given) {
		h.Path, h.Layers, h.VC = list[0].Path, list[0].Layers, list[0].VC
	}
}

// set makes the switch what the question says it is.
func (s *stand) set(f *fabric, q *Question, id weft.SwitchID) error {
	s.still.Dead = switching.PortSet{}
	for i, r := range q.Dead {
		p, err := f.port(id, r)
		if err != nil {
			return within("dead_ports", within(fmt.Sprint(i), err))
		}
		s.still.Dead.Add(p)
	}
	clear(s.still.Registers)
	for _, name := range sortedKeys(q.State) { // sorted, so that of several mistakes always the same is told
		i := slices.IndexFunc(s.registers, func(r switching.Register) bool { return r.Name == name })
		if i < 0 {
			return within("state", document.Unknown("register", name, names(s.registers)))
		}
		if w := s.registers[i].Width; w < 64 && q.State[name]>>w != 0 {
			return within("state", within(name, fmt.Errorf("found %b, expected at most %d bits", q.State[name], w)))
		}
		s.still.Registers[i] = q.State[name]
	}
	s.still.Free, s.still.Random = q.Free, q.Random
	s.still.Asked = switching.Asked{}
	return nil
}

// route asks the firmware.
func (f *fabric) route(h *weft.Header, at switching.Arrival, sw *switching.Still) (d switching.Decision, err error) {
	defer f.guard(sw.At, &err)
	return f.fw.Route(h, at, sw), nil
}

// guard, deferred, makes an error of a panic of the firmware, which must never panic: it says
// where, for its author to mend. A guest's fault says so itself.
func (f *fabric) guard(place *weft.Place, err *error) {
	switch r := recover().(type) {
	case nil:
	case interface {
		error
		Why() string
	}:
		*err = within("routing", r)
	default:
		*err = within("routing", fmt.Errorf("BUG in firmware %s: it panics at %s: %v (%s)", f.routing, place.Name, r,
			culprit()))
	}
}

// culprit is the line that panicked, in a deferred call.
func culprit() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = true
		case panicked:
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "place not known"
		}
	}
}

func names(registers []switching.Register) (list []string) {
	for _, r := range registers {
		list = append(list, r.Name)
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
