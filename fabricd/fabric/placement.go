package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// HostOptions is a host of the fabric that another process runs.
type HostOptions struct {
	Name     string // no node of the topology is called so
	Switches []weft.SwitchID
	NICs     []weft.NICID
}

// ShardsPerHost is how many connections a host has for its links, chosen by us: as many as one
// process alone has on four cores.
const ShardsPerHost = 2

// Placements says where all nodes are: first, of no name, those that the leader itself runs with so
// many shards, if there are any; then the hosts. The error names a node that is on two hosts, or is
// none.
func Placements(g *topology.Graph, hosts []HostOptions, shards int) ([]host.Placement, error) {
	switches, nics := make([]string, len(g.Switches)), make([]string, len(g.NICs))
	take := func(list []string, kind string, id int, name string) error {
		if id >= len(list) {
			return fmt.Errorf("host %s: %s %d: %w: there are %d", name, kind, id, ErrUnknown, len(list))
		}
		if list[id] != "" {
			return fmt.Errorf("%s %d is on host %s and on host %s: it can be on one", kind, id, list[id], name)
		}
		list[id] = name
		return nil
	}
	names := map[string]bool{}
	var errs []error
	for _, p := range hosts {
		_, unknown := g.NodeByName(p.Name)
		switch {
		case p.Name == "":
			errs = append(errs, errors.New("a host needs a name"))
		case names[p.Name]:
			errs = append(errs, fmt.Errorf("two hosts are called %s: give each a name of its own", p.Name))
		case unknown == nil:
			errs = append(errs, fmt.Errorf("host %s is called like a node of the topology: call it something else", p.Name))
		case len(p.Switches)+len(p.NICs) == 0:
			errs = append(errs, fmt.Errorf("host %s has neither a switch nor a NIC: leave it out", p.Name))
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
	var list []host.Placement
	own := host.Placement{
		Shards: shards, Switches: host.Spans(missing[weft.SwitchID](switches)),
		NICs: host.Spans(missing[weft.NICID](nics)),
	}
	if len(own.Switches)+len(own.NICs) > 0 {
		list = append(list, own)
	}
	for _, p := range hosts {
		at := shards // those of the leader, also when it has no nodes
		if n := len(list); n > 0 {
			at = list[n-1].Shard + list[n-1].Shards
		}
		list = append(list, host.Placement{
			Host: p.Name, Switches: host.Spans(slices.Sorted(slices.Values(p.Switches))),
			NICs:  host.Spans(slices.Sorted(slices.Values(p.NICs))),
			Shard: at, Shards: ShardsPerHost,
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

// validateHosts refuses hosts that cannot be.
func (o Options) validateHosts() error {
	switch {
	case len(o.Hosts) == 0:
		return nil
	case o.Runtime != nil:
		return fmt.Errorf("fabric: a remote host goes by the clock on the wall: run it live")
	case o.Processes == nil || o.Processes.Hosts == nil || o.Host == nil:
		return fmt.Errorf("fabric: hosts: how they are reached and hosted is required")
	}
	if _, err := subnet.ByName(o.Processes.Routing); err != nil {
		return fmt.Errorf("fabric: hosts: this firmware has no name by which a host could make it, so all nodes stay in "+
			"one process: %w", err)
	}
	return nil
}

// specOf is what h needs to be that host.
func (at *attendance) specOf(_ loop, h *hostState, by *admission) (c host.Spec, err error) {
	if at.packed == nil {
		var topology bytes.Buffer
		if err := at.graph.WriteYAML(&topology); err != nil {
			return c, err
		}
		if at.packed, err = wire.Compress(topology.Bytes()); err != nil {
			return c, err
		}
	}
	o := at.opts
	at.incarnations = max(at.incarnations, o.Term<<termShift, ownNumber) + 1
	c = host.Spec{
		Fabric: o.Processes.Fabric, Host: h.name, Number: at.incarnations, Term: o.Term, Again: h.again.Load(),
		Topology: at.packed, Routing: o.Processes.Routing, Placement: h.placement, Placements: at.placements,
		Switch: o.Switch, NIC: o.NIC, Link: o.Link, Liveness: o.Liveness, Inbox: o.inboxSize(),
		Seed: o.Seed, Generation: at.generation(), Hold: at.Held(), Packets: o.Record != nil, Credentials: by.credentials,
	}
	c.Now, c.Epoch = at.Now(), h.specEpoch()
	c.Routing, c.File, err = subnet.Pin(c.Routing)
	return c, err
}

// each calls do for hosts, all at once, and returns what went wrong.
func each(ctx context.Context, hosts []*hostState, do func(ctx context.Context, h *hostState) error) error {
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() { errs <- do(ctx, h) }()
	}
	var all []error
	for range hosts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// HostStatus is a host as it is now.
type HostStatus struct {
	Host     string `json:"host"`
	Part     string `json:"part"`  // the same, under its old name: until 0.2.0
	State    string `json:"state"` // SwitchUp, SwitchDown or SwitchSuspect, as that of its switches
	Number   uint64 `json:"number"`
	Again    int    `json:"again"` // how often it was made anew
	Switches int    `json:"switches"`
	NICs     int    `json:"nics"`
	Links    int    `json:"links"`    // that have both ends in it
	Crossing int    `json:"crossing"` // that have one
	// BehindSeconds is how far its clock is behind the fabric's, as it was measured last; the leader
	// puts it right.
	BehindSeconds float64 `json:"behind_seconds"`
}

// Hosts are the hosts of the fabric, in the order of the options.
func (rd *reader) Hosts() []HostStatus {
	list := []HostStatus{}
	for _, h := range rd.remote {
		h.mu.Lock()
		s := HostStatus{
			Host: h.name, Part: h.name, State: SwitchUp, Number: h.number, Again: int(h.again.Load()), Links: len(h.inside),
			Crossing: len(h.border),
			Switches: len(rd.runBy(h)), NICs: len(h.placement.NICIDs()), BehindSeconds: us(h.clock.behind) / 1e6,
		}
		h.mu.Unlock()
		switch {
		case h.failed.Load():
			s.State = SwitchDown
		case h.suspect.Load():
			s.State = SwitchSuspect
		}
		list = append(list, s)
	}
	return list
}
