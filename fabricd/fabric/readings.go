package fabric

import (
	"context"
	"errors"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// What is known of single nodes of hosts: everything about a few when it is asked for, and readings
// of all while somebody watches.

// nodeTime bounds how long a host may take to answer about its nodes. Chosen by us: when a fabric
// is stuck the host is asked for all of them at once.
const nodeTime = 5 * time.Second

// nodes asks the host for everything about some nodes. What the host leaves out is empty, as when
// it does not answer.
func (h *hostState) nodes(switches []weft.SwitchID, nics []weft.NICID) (a host.Nodes) {
	if h.suspect.Load() {
		return a
	}
	h.mu.Lock()
	alive, r := h.answers, host.NodeRequest{Number: h.number, Switches: switches, NICs: nics}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(alive, nodeTime)
	defer cancel()
	a, err := h.host.Nodes(ctx, r)
	if err != nil {
		h.site.opts.Log.Warn("nodes of a host", "host", h.name, "err", err)
		return host.Nodes{}
	}
	return a
}

// silentSwitch stands for a switch whose host does not answer.
func (rd *reader) silentSwitch(id weft.SwitchID) switching.Snapshot {
	ports := rd.graph.Switches[id].Ports
	return switching.Snapshot{Switch: id, Discards: map[string]uint64{}, Ports: make([]switching.PortSnapshot, ports)}
}

// snapshots copies the state of switches, by number; nil is all. Those of hosts that do not answer
// are empty.
func (rd *reader) snapshots(ids []weft.SwitchID) map[weft.SwitchID]switching.Snapshot {
	all := map[weft.SwitchID]switching.Snapshot{}
	queries := map[*hostState][]weft.SwitchID{}
	add := func(id weft.SwitchID) {
		all[id] = rd.silentSwitch(id)
		for _, h := range rd.hostsOf(id.Node()) {
			queries[h] = append(queries[h], id)
		}
	}
	if ids == nil {
		for _, s := range rd.switches {
			add(s.id)
		}
	}
	for _, id := range ids {
		add(id)
	}
	processes := map[weft.SwitchID]*switching.Snapshot{}
	for h, ids := range queries {
		for _, sn := range h.nodes(ids, nil).Switches {
			if _, ok := all[sn.Switch]; !ok {
				continue
			}
			if h.sw == nil {
				all[sn.Switch] = sn
			} else if h.runs(sn.Switch.Node()) {
				processes[sn.Switch] = &sn
			}
		}
	}
	for id, sn := range all {
		all[id] = rd.switches[id].snapshot(sn, processes[id])
	}
	return all
}

// Switch copies the state of one switch. A host's switch counts since it was last made; one that is
// or was a process counts since the fabric was made.
func (rd *reader) Switch(id weft.SwitchID) switching.Snapshot {
	return rd.snapshots([]weft.SwitchID{id})[id]
}

// NIC copies the state of one NIC, counted as that of [Fabric.Switch].
func (rd *reader) NIC(id weft.NICID) nic.Snapshot {
	n := rd.nics[id]
	if list := n.home.nodes(nil, []weft.NICID{id}).NICs; len(list) == 1 {
		return list[0]
	}
	return nic.Snapshot{NIC: id}
}

// How often hosts are read while somebody watches: several times a second, but for at most a tenth
// of the time. Chosen by us.
const (
	readEvery = 200 * time.Millisecond
	readShare = 10
	watchedBy = 3 * time.Second // how long after a look somebody counts as watching
)

// readings are the latest readings of a host's nodes. Constant.
type readings struct {
	switches map[weft.SwitchID]*switching.Reading
	nics     map[weft.NICID]*nic.Reading
}

// watch reads the host again and again while somebody watches, until ctx ends.
func (at *attendance) watchHost(ctx context.Context, h *hostState) {
	var latency time.Time
	wait := readEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		began := time.Now()
		if h.suspect.Load() || began.UnixNano()-at.watched.Load() > int64(watchedBy) {
			wait = readEvery
			continue
		}
		if began.Sub(latency) > latencyEvery {
			latency = began
			_ = h.read(host.CountersRequest{Latency: true})
		}
		h.readNodes()
		wait = max(readEvery, readShare*time.Since(began))
	}
}

// readNodes reads all nodes of the host.
func (h *hostState) readNodes() {
	h.mu.Lock()
	alive, number := h.answers, h.number
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(alive, nodeTime)
	defer cancel()
	a, err := h.host.Read(ctx, host.ReadRequest{Number: number})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			h.site.opts.Log.Debug("readings of a host", "host", h.name, "err", err)
		}
		return
	}
	r := &readings{
		make(map[weft.SwitchID]*switching.Reading, len(a.Switches)), make(map[weft.NICID]*nic.Reading, len(a.NICs)),
	}
	for i := range a.Switches {
		s := &a.Switches[i]
		if int(s.Switch) < len(h.site.switches) && len(s.Reading.Ports) == h.site.graph.Switches[s.Switch].Ports {
			r.switches[s.Switch] = &s.Reading
		}
	}
	for i := range a.NICs {
		r.nics[a.NICs[i].NIC] = &a.NICs[i].Reading
	}
	h.readings.Store(r)
}

// sumVCs adds up the virtual channels of each switch.
func (rd *reader) sumVCs() [][]switching.VCSum {
	all := make([][]switching.VCSum, len(rd.switches))
	local, _ := rd.local.host.Read(context.Background(), host.ReadRequest{VCs: true}) // it always answers
	for _, r := range local.VCs {
		if rd.local.runs(r.Switch.Node()) {
			all[r.Switch] = r.VCs
		}
	}
	_ = each(context.Background(), rd.answering(), func(_ context.Context, h *hostState) error {
		h.mu.Lock()
		alive, number := h.answers, h.number
		h.mu.Unlock()
		ctx, cancel := context.WithTimeout(alive, nodeTime)
		defer cancel()
		a, err := h.host.Read(ctx, host.ReadRequest{Number: number, VCs: true})
		if err != nil {
			rd.opts.Log.Warn("virtual channels of a host", "host", h.name, "err", err)
			return nil
		}
		for _, r := range a.VCs { // each host has its own
			if int(r.Switch) < len(all) && h.runs(r.Switch.Node()) {
				all[r.Switch] = r.VCs
			}
		}
		return nil
	})
	return all
}

// readSwitch is the latest reading of a switch of the host.
func (h *hostState) readSwitch(id weft.SwitchID) switching.Reading {
	if r := h.readings.Load(); r != nil && r.switches[id] != nil {
		return *r.switches[id]
	}
	return switching.Reading{Ports: make([]switching.PortReading, h.site.graph.Switches[id].Ports)}
}

// readNIC is the latest reading of a NIC of the host.
func (h *hostState) readNIC(id weft.NICID) nic.Reading {
	if r := h.readings.Load(); r != nil && r.nics[id] != nil {
		return *r.nics[id]
	}
	return nic.Reading{}
}

// readNodes reads some hosts now.
func readNodes(hosts []*hostState) {
	_ = each(context.Background(), hosts, func(_ context.Context, h *hostState) error {
		h.readNodes()
		return nil
	})
}
