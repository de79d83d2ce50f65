package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// PartOptions is a part of the fabric that another process runs.
type PartOptions struct {
	Name     string // no node of the topology is called so
	Switches []weft.SwitchID
	NICs     []weft.NICID
}

// ShardsOfPart is how many connections a part has for its links, chosen by us: as many as one process alone has on four cores.
const ShardsOfPart = 2

// Places says where all nodes are: first, of no name, those that the leader itself runs with so many shards, if there are any; then the parts.
// The error names a node that is in two parts, or is none.
func Places(g *topology.Graph, parts []PartOptions, shards int) ([]host.Place, error) {
	switches, nics := make([]string, len(g.Switches)), make([]string, len(g.NICs))
	take := func(list []string, kind string, id int, name string) error {
		if id >= len(list) {
			return fmt.Errorf("part %s: %s %d: %w: there are %d", name, kind, id, ErrUnknown, len(list))
		}
		if list[id] != "" {
			return fmt.Errorf("%s %d is in part %s and in part %s: it can be in one", kind, id, list[id], name)
		}
		list[id] = name
		return nil
	}
	names := map[string]bool{}
	var errs []error
	for _, p := range parts {
		_, unknown := g.NodeByName(p.Name)
		switch {
		case p.Name == "":
			errs = append(errs, errors.New("a part needs a name"))
		case names[p.Name]:
			errs = append(errs, fmt.Errorf("two parts are called %s: give each a name of its own", p.Name))
		case unknown == nil:
			errs = append(errs, fmt.Errorf("part %s is called like a node of the topology: call it something else", p.Name))
		case len(p.Switches)+len(p.NICs) == 0:
			errs = append(errs, fmt.Errorf("part %s has neither a switch nor a NIC: leave it out", p.Name))
		}
		names[p.Name] = true
		for _, id := range p.Switches {
			errs = append(errs, take(switches, "switch", int(id), p.Name))
		}
		for _, id := range p.NICs {
			errs = append(errs, take(nics, "nic", int(id), p.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	var list []host.Place
	own := host.Place{Shards: shards, Switches: host.Spans(missing[weft.SwitchID](switches)), NICs: host.Spans(missing[weft.NICID](nics))}
	if len(own.Switches)+len(own.NICs) > 0 {
		list = append(list, own)
	}
	for _, p := range parts {
		at := shards // those of the leader, also when it has no nodes
		if n := len(list); n > 0 {
			at = list[n-1].Shard + list[n-1].Shards
		}
		list = append(list, host.Place{
			Part: p.Name, Switches: host.Spans(slices.Sorted(slices.Values(p.Switches))), NICs: host.Spans(slices.Sorted(slices.Values(p.NICs))),
			Shard: at, Shards: ShardsOfPart,
		})
	}
	return list, nil
}

// missing are the numbers of nodes that nobody has taken.
func missing[ID ~uint32](taken []string) (ids []ID) {
	for i, name := range taken {
		if name == "" {
			ids = append(ids, ID(i))
		}
	}
	return ids
}

// divide makes the nodes, each with its host, and notes which links are inside one.
func (f *Fabric) divide(places []host.Place) error {
	f.switches, f.nics = make([]*liveSwitch, len(f.graph.Switches)), make([]*liveNIC, len(f.graph.NICs))
	for i, s := range f.graph.Switches {
		f.switches[i] = &liveSwitch{id: s.ID, name: s.Name, part: f.local, Program: host.NewProgram(f.opts.Firmware)}
	}
	for i := range f.nics {
		f.nics[i] = &liveNIC{weft.NICID(i), f.local}
	}
	for i, o := range f.opts.Parts {
		p := newOutpost(f, localHostID+1+ledger.HostID(i), o.Name, places[i])
		f.parts = append(f.parts, p)
		for _, id := range o.Switches {
			f.switches[id].part = p
		}
		for _, id := range o.NICs {
			f.nics[id].part = p
		}
	}
	f.hosts.Store(new(append([]*outpost{f.local}, f.parts...)))
	for _, l := range f.links {
		a, b := f.home(l.A.Node), f.home(l.B.Node)
		if a != b && !l.BetweenSwitches() {
			return fmt.Errorf("fabric: link %s: a NIC sends by the tables of its switch, so both must be in one part", l.Name)
		}
		if a == b {
			a.inside = append(a.inside, l)
			continue
		}
		for i, p := range []*outpost{a, b} {
			p.cross, p.border = append(p.cross, l.ends()[i]), append(p.border, l)
		}
	}
	return nil
}

// liveNIC is a NIC as the leader knows it.
type liveNIC struct {
	id   weft.NICID
	part *outpost // the host that runs it
}

// home is the host that runs a node, unless a process does.
func (f *Fabric) home(n weft.Node) *outpost {
	if n.IsSwitch() {
		return f.switches[n.Index].part
	}
	return f.nics[n.Index].part
}

// hostsOf are the hosts that are told what is to be so for a node: who runs it now, and of a switch process besides the host that does
// when that leaves.
func (f *Fabric) hostsOf(n weft.Node) []*outpost {
	now, home := f.outpostOf(n), f.home(n)
	if now == home {
		return []*outpost{home}
	}
	return []*outpost{now, home}
}

// outpostOf is the host that runs a node now, switch processes among them.
func (f *Fabric) outpostOf(n weft.Node) *outpost {
	if n.IsSwitch() {
		if p := f.switches[n.Index].process(); p != nil {
			return p
		}
	}
	return f.home(n)
}

// validateParts refuses parts that cannot be.
func (o Options) validateParts() error {
	switch {
	case len(o.Parts) == 0:
		return nil
	case o.World != nil:
		return fmt.Errorf("fabric: a part lives by the clock on the wall: run it live")
	case o.Processes == nil || o.Processes.Hosts == nil || o.Host == nil:
		return fmt.Errorf("fabric: parts: how they are reached and hosted is required")
	}
	if _, err := subnet.ByName(o.Processes.Firmware); err != nil {
		return fmt.Errorf("fabric: parts: this firmware has no name by which a part could make it, so all nodes stay in one process: %w", err)
	}
	return nil
}

// charterOf is what p needs to be that part. The caller holds mu, or nothing runs yet.
func (f *Fabric) charterOf(p *outpost) (c host.Charter, err error) {
	if f.packed == nil {
		var topology bytes.Buffer
		if err := f.graph.WriteYAML(&topology); err != nil {
			return c, err
		}
		if f.packed, err = deflate.Compress(topology.Bytes()); err != nil {
			return c, err
		}
	}
	o := f.opts
	f.incarnations = max(f.incarnations, o.Term<<termShift, ownNumber) + 1
	c = host.Charter{
		Fabric: o.Processes.Fabric, Part: p.name, Number: f.incarnations, Term: o.Term, Again: p.again,
		Topology: f.packed, Firmware: o.Processes.Firmware, Place: p.place, Layout: f.places,
		Switch: o.Switch, NIC: o.NIC, Link: f.linkOptions(),
		Seed: o.Seed, Era: f.era, Hold: f.Held(), Packets: o.Record != nil,
	}
	// Epochs count a thousand a second, faster than any link comes up for long, so that they are above all of before.
	c.Now = f.Now()
	c.Epoch = firstEpoch + weft.Epoch(c.Now/weft.Millisecond)
	if p.next != nil {
		c.Credentials = p.next.credentials
		return c, nil
	}
	user, err := o.Processes.Hosts.Admit(&c, f.graph)
	if err == nil && len(c.Credentials) > 0 {
		p.next = &admission{user, c.Credentials}
	}
	return c, err
}

// admitted notes that p has the credentials of its charter, and takes back those of its last incarnation. The caller holds mu.
func (f *Fabric) admitted(p *outpost) {
	if p.next == nil {
		return
	}
	if p.user != "" {
		f.opts.Processes.Hosts.Revoke(p.user)
	}
	p.user, p.next = p.next.user, nil
}

// each calls do for parts, all at once, and returns what went wrong.
func each(ctx context.Context, parts []*outpost, do func(ctx context.Context, p *outpost) error) error {
	errs := make(chan error, len(parts))
	for _, p := range parts {
		go func() { errs <- do(ctx, p) }()
	}
	var all []error
	for range parts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// PartState is a part as it is now.
type PartState struct {
	Part     string `json:"part"`
	State    string `json:"state"` // SwitchUp, SwitchDown or SwitchQuiet, as that of its switches
	Number   uint64 `json:"number"`
	Again    int    `json:"again"` // how often it was made anew
	Switches int    `json:"switches"`
	NICs     int    `json:"nics"`
	Links    int    `json:"links"`    // that have both ends in it
	Crossing int    `json:"crossing"` // that have one
	// BehindMS is how far its clock is behind the fabric's, in milliseconds, as it was measured last; the leader puts it right.
	BehindMS float64 `json:"behind_ms"`
}

// Parts are the parts of the fabric, in the order of the options.
func (f *Fabric) Parts() []PartState {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []PartState{}
	for _, p := range f.parts {
		p.mu.Lock()
		s := PartState{
			Part: p.name, State: SwitchUp, Number: p.number, Again: int(p.again), Links: len(p.inside), Crossing: len(p.border),
			Switches: len(p.place.SwitchIDs()), NICs: len(p.place.NICIDs()), BehindMS: ms(p.clock.behind),
		}
		p.mu.Unlock()
		switch {
		case p.lost.Load():
			s.State = SwitchDown
		case p.quiet.Load():
			s.State = SwitchQuiet
		}
		list = append(list, s)
	}
	return list
}
