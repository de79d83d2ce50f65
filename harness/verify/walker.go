package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
)

// ErrPath is wrapped by every error about a path that the checker does not have.
var ErrPath = errors.New("the checker has no such path")

// Walker holds the paths that packets took against those that the checker explores. It is what ties
// a live fabric, or one in virtual time, to what was verified of its firmware. One goroutine at a
// time may use it.
type Walker struct {
	x     *explorer
	flows map[[2]weft.NICID]int
}

// NewWalker explores c.Firmware with these elements dead: from before the first packet, or as
// c.When says. c.Sets is not used. With c.Regs Shared a packet may find in the registers whatever
// the packets of all flows can write.
func NewWalker(c Config, dead ...Element) (*Walker, error) {
	c.Sets = Sets{List: [][]Element{dead}}
	if err := c.check(); err != nil {
		return nil, err
	}
	m, err := newModel(&c)
	if err != nil {
		return nil, err
	}
	w := &Walker{x: newExplorer(m, nil), flows: map[[2]weft.NICID]int{}}
	if err := w.x.adopt(dead); err != nil {
		return nil, err
	}
	m = w.x.m
	for f, fl := range m.flows {
		for _, src := range fl.srcs {
			w.flows[[2]weft.NICID{src, fl.dst}] = f
		}
	}
	w.x.scene.setTo(w.x.space, dead)
	return w, w.x.settle()
}

// Allows reports whether the exploration has the path of a packet: at each hop the state the packet
// was in (switch, in port, VC, fields), and of all that may happen there what did (rule, out port,
// VC, fields). The path begins at the source and may end anywhere, as that of a packet that is lost
// does. A packet that was queued for a link when it died and was routed again at the same switch is
// taken by its last decision there. An error wraps [ErrPath] and names the first hop that differs.
func (w *Walker) Allows(src, dst weft.NICID, hops []weft.Hop) error {
	return w.follow(src, dst, hops, false)
}

// Forces is Allows for a packet that had no choice: at every hop there is nothing else that may
// happen.
func (w *Walker) Forces(src, dst weft.NICID, hops []weft.Hop) error {
	return w.follow(src, dst, hops, true)
}

func (w *Walker) follow(src, dst weft.NICID, hops []weft.Hop, only bool) error {
	x := w.x
	name := func(id weft.NICID) string { return x.m.g.Name(id.Node()) }
	f, ok := w.flows[[2]weft.NICID{src, dst}]
	if !ok {
		return fmt.Errorf("%w: %s sends nothing to %s", ErrPath, name(src), name(dst))
	}
	fs := x.start(f)
	x.future.forget()
	if len(x.memory.all) > x.m.kept/16 {
		x.memory.clear()
	}
	var at []nodeKey
	for _, start := range fs.starts[slices.Index(x.m.flows[f].srcs, src)] {
		memory, _ := x.begin(fs, start)
		st := fs.states[start.state]
		sent := len(hops) > 0 && st.vc == hops[0].InVC && x.fields.of(st.fields) == hops[0].Before
		if sent || len(at) == 0 { // the address that it was sent to, if there is such a one
			at = []nodeKey{{state: start.state, memory: memory}}
		}
	}
	for i := range hops {
		if i+1 < len(hops) && hops[i+1].Switch == hops[i].Switch {
			continue
		}
		next, err := w.hop(f, fs, at, &hops[i], only)
		if err != nil {
			return fmt.Errorf("%s -> %s with %s dead, hop %d: %w", name(src), name(dst), x.names(x.scene.set), i, err)
		}
		at = next
	}
	return nil
}

// hop takes a packet that is in one of some nodes, which differ by what it knows of registers and
// by the moment only, over one hop.
func (w *Walker) hop(f int, fs *flowSpace, at []nodeKey, h *weft.Hop, only bool) ([]nodeKey, error) {
	x := w.x
	if len(at) == 0 {
		return nil, fmt.Errorf("%w: the packet has ended before", ErrPath)
	}
	st := fs.states[at[0].state]
	is := visit{weft.SwitchID(st.sw), st.in, st.vc, x.fields.of(st.fields)}
	if was := (visit{h.Switch, h.In, h.InVC, h.Before}); was != is {
		return nil, fmt.Errorf("%w: it is there %s, and was %s", ErrPath, is.text(x.m), was.text(x.m))
	}
	did := act{h.Rule, h.Out, h.OutVC, h.After}
	if h.Out == weft.NoPort {
		did = act{rule: h.Rule, out: weft.NoPort}
	}
	var can []act
	var next []nodeKey
	for _, k := range x.later(at) {
		if _, down := x.scene.dead(st.sw, int(k.moment)); down {
			continue
		}
		x.steps(f, fs, k, func(a *alternative, _, memory int32, moment int) {
			if x.m.when != Arriving {
				moment = 0
			}
			for e, c := range x.acts(f, fs, a) {
				if !slices.Contains(can, c) {
					can = append(can, c)
				}
				if c != did || a.bad != good || a.edges[e].to < 0 {
					continue
				}
				if n := (nodeKey{a.edges[e].to, memory, int32(moment)}); !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
		})
	}
	switch {
	case len(can) == 0:
		return nil, fmt.Errorf("%w: %s is dead", ErrPath, x.m.g.Switches[st.sw].Name)
	case !slices.Contains(can, did):
		return nil, fmt.Errorf("%w: %s it %s; there is only: %s", ErrPath, is.text(x.m), did.text(x.m, is.sw),
			textOf(can, x.m, is.sw))
	case only && len(can) > 1:
		return nil, fmt.Errorf("%w that is the only one: %s there are: %s", ErrPath, is.text(x.m), textOf(can, x.m, is.sw))
	}
	return next, nil
}

// later adds to some nodes those that they become when more of the faults come first.
func (x *explorer) later(at []nodeKey) []nodeKey {
	if x.m.when != Arriving {
		return at
	}
	all := slices.Clone(at)
	for i := 0; i < len(all); i++ {
		for b := range x.scene.set {
			k := all[i]
			if k.moment |= 1 << b; !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all
}

// acts is what an alternative lets a packet do, one per edge, or the one way it ends.
func (x *explorer) acts(f int, fs *flowSpace, a *alternative) (list []act) {
	rule := x.rules.of(a.rule)
	if a.bad != good {
		return []act{{rule: rule, out: weft.NoPort}}
	}
	for _, e := range a.edges {
		if e.to < 0 {
			_, p := x.m.g.SwitchOf(x.m.flows[f].dst)
			vc, fields := x.handed(e)
			list = append(list, act{rule, p, vc, fields})
			continue
		}
		to := fs.states[e.to]
		list = append(list, act{rule, x.m.port(e.out), to.vc, x.fields.of(to.fields)})
	}
	return list
}

// visit is a packet's arrival at a switch.
type visit struct {
	sw     weft.SwitchID
	in     weft.PortID
	vc     weft.VC
	fields weft.Fields
}

func (v visit) text(m *model) string {
	return fmt.Sprintf("at %s, in %v %v%s,", m.g.Name(v.sw.Node()), v.in, v.vc, fieldsText(v.fields))
}

// act is what a switch does with it. A discard has the rule and weft.NoPort only.
type act struct {
	rule   string
	out    weft.PortID
	vc     weft.VC
	fields weft.Fields
}

func (a act) text(m *model, at weft.SwitchID) string {
	if a.out == weft.NoPort {
		return fmt.Sprintf("ended by %q", a.rule)
	}
	to, _, _ := m.g.Peer(weft.End{Node: at.Node(), Port: a.out})
	return fmt.Sprintf("went by %q out %v %v to %s%s", a.rule, a.out, a.vc, m.g.Name(to.Node), fieldsText(a.fields))
}

func textOf(can []act, m *model, at weft.SwitchID) string {
	var list []string
	for _, a := range can {
		list = append(list, a.text(m, at))
	}
	return strings.Join(list, ", or ")
}
