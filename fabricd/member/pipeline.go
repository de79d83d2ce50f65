package member

import (
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
	"github.com/weft-fabric/weft/switch/switchd"
)

// pipeline is the switch itself.
type pipeline struct {
	*switchd.Driver
	core    *switching.Switch // stepped only by the driver
	number  uint64
	teller  *teller
	links   bus.Transport
	vcs     int
	program *part.Program // of core
}

// build makes the switch of a charter on its links.
func build(c Charter, name string, links bus.Transport, t *teller) (*pipeline, error) {
	g, err := topology.Load("fabric.yaml", []byte(c.Topology))
	if err != nil {
		return nil, fmt.Errorf("topology of fabric %s: %w", c.Fabric, err)
	}
	id, err := g.SwitchByName(name)
	if err != nil {
		return nil, err
	}
	fw, _, err := subnet.Firmware(c.Firmware, g)
	if err != nil {
		return nil, fmt.Errorf("fabric %s is of another release than this process: %w", c.Fabric, err)
	}
	if c.Notices {
		n, ok := fw.(switching.Notifier)
		if !ok {
			return nil, fmt.Errorf("fabric %s is of another release than this process: firmware %s tells no sources of discards here", c.Fabric, c.Firmware)
		}
		fw = n.Notifying()
	}
	cores := part.Cores{
		Graph: g, Firmware: fw, Seed: c.Seed, Epoch: c.Epoch, Number: c.Number, Link: part.LinkOptions{Liveness: c.Liveness},
		Switch: part.SwitchOptions{
			VCs: c.VCs, InputBuffer: c.InputBuffer, OutputBuffer: c.OutputBuffer, Queueing: c.Queueing, Selection: c.Selection,
			Waiting: c.Waiting, EagerCredits: c.EagerCredits, Requeue: c.Requeue,
		},
	}
	core, err := cores.MakeSwitch(id)
	if err != nil {
		return nil, err
	}
	wires, err := wire(g, id, c, links)
	if err != nil {
		return nil, err
	}
	d := switchd.New(switchd.Config{
		Core: core, Wires: wires, Clock: c.clock(), Batch: c.Batch, Seed: c.Seed<<16 + uint64(id), Watch: t,
	})
	return &pipeline{Driver: d, core: core, number: c.Number, teller: t, links: links, vcs: c.VCs, program: part.NewProgram(fw)}, nil
}

// wire opens the links of a switch.
func wire(g *topology.Graph, id weft.SwitchID, c Charter, links bus.Transport) ([]switchd.Wire, error) {
	wires := make([]switchd.Wire, g.Place(id).Ports())
	for p := range wires {
		out, ok := part.Direction(g, weft.End{Node: id.Node(), Port: weft.PortID(p)})
		if !ok {
			continue
		}
		inbox := make(chan bus.Message, c.Inbox)
		if err := links.Listen(out.Reverse(), inbox); err != nil {
			return nil, err
		}
		sender, err := links.Sender(out)
		if err != nil {
			return nil, err
		}
		wires[p] = switchd.Wire{Out: sender, Inbox: inbox, Pace: c.Pace}
	}
	return wires, nil
}

// clock is the fabric's clock: exact on its host; elsewhere it is behind by what the charter was on its way, for hosts do
// not agree on the time of day.
func (c Charter) clock() func() weft.Time {
	here, began := time.Now(), c.Now
	if host, err := os.Hostname(); err == nil && host == c.Host {
		began = weft.FromDuration(here.Round(0).Sub(c.Started))
	}
	return func() weft.Time { return began + weft.FromDuration(time.Since(here)) }
}

// state is what the fabric is told of the switch.
func (p *pipeline) state() (a Answer) {
	a.Number = p.number
	p.Do(func(now weft.Time, _ *weft.Actions) {
		a.At, a.Snapshot = now, p.core.Snapshot()
		a.Flows = make([]credit.Flow, p.core.Ports())
		for i := range a.Flows {
			a.Flows[i] = p.core.Flow(weft.PortID(i))
		}
		a.Observed, a.Lost = p.teller.counts() // the driver observes under the lock that it holds here
	})
	a.Driver, a.Links = p.Stats(), p.links.Stats()
	return a
}

// crash loses all that is inside.
func (p *pipeline) crash() {
	p.Do(func(now weft.Time, out *weft.Actions) { p.core.Crash(now, out) })
}
