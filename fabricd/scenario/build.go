package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ib/opensm"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Built is what [Build] makes of settings: all of a fabric but the transport.
type Built struct {
	Options fabric.Options
	// Routing is that of the settings, or the tables that decide alike where the manager replaces
	// tables.
	Routing   string
	Manager   manage.Method
	Unmanaged error // why method auto has chosen none
	OpenSM    bool  // it manages, with these arguments
	Args      []string
	Delays    manager.Delays // of the manager, in virtual time
}

// builder makes a Built and collects what is wrong with the settings.
type builder struct {
	Built
	settings settings.Settings
	own      []firmware.Firmware // beside those that come with Weft
	wrong    []settings.Mistake
}

// Build makes the fabric of s on g, which is the topology that s names; nil when that cannot be
// read: the other settings are then checked alone. The settings may name firmwares of own beside
// those that come with Weft. A fabric with mistakes is unusable.
func Build(
	ctx context.Context, s settings.Settings, g *topology.Graph, own ...firmware.Firmware,
) (Built, []settings.Mistake) {
	b := builder{settings: s.Filled(), own: own, wrong: s.Check()}
	sound := len(b.wrong) == 0
	s = b.settings
	o := &b.Options
	o.Topology, o.Seed, b.Routing = g, s.Seed, s.Routing
	b.firmware(ctx)
	b.manager(ctx)
	b.switches()
	o.NIC, o.Link, o.Liveness, o.TimeFactor, o.FixedTime = s.NIC, s.Link, s.Liveness, s.TimeFactor, s.FixedTime
	b.notices()
	if sound {
		b.liveness()
	}
	b.traffic()
	return b.Built, b.wrong
}

func (b *builder) fail(path string, err error) {
	if err != nil {
		b.wrong = append(b.wrong, settings.Mistake{Path: path, Err: err})
	}
}

// firmware makes the firmware, and with it the number of virtual channels that it needs.
func (b *builder) firmware(ctx context.Context) {
	o := &b.Options
	e, err := entry(b.Routing, b.own)
	if err == nil && o.Topology != nil {
		o.Firmware, o.Switch.VCs, err = e.New(ctx, o.Topology)
	}
	if err == nil && o.Topology != nil {
		err = runs(o)
	}
	b.fail("routing", err)
}

// entry is what is chosen by a name, of own firmwares too.
func entry(name string, own []firmware.Firmware) (subnet.Entry, error) {
	if i := slices.IndexFunc(own, func(f firmware.Firmware) bool { return f.Name == name }); i >= 0 {
		return subnet.Plain(own[i]), nil
	}
	return subnet.ByName(name)
}

// runs asks the firmware whether every switch can run it.
func runs(o *fabric.Options) error {
	for _, s := range o.Topology.Switches {
		if err := o.Firmware.Fits(o.Topology.Place(s.ID), o.Switch.VCs); err != nil {
			return err
		}
	}
	return nil
}

// manager chooses how the fabric is managed. A routing that is rules is run as the tables that
// decide alike, where there are such.
func (b *builder) manager(ctx context.Context) {
	s, g := b.settings.Manager, b.Options.Topology
	b.Delays = manager.Delays{Detect: s.Detect.Time(), Compute: s.Compute.Time(), Distribute: s.Distribute.Time()}
	if s.Method == "" || g == nil {
		return
	}
	if s.Method == manage.Auto {
		b.Manager, b.Unmanaged = manage.For(ctx, b.Routing, g)
		return
	}
	if b.OpenSM = s.Method == opensm.Method; b.OpenSM {
		b.Args = strings.Fields(s.Args)
		if !subnet.IsFromManager(b.Routing) {
			b.fail("routing", fmt.Errorf("OpenSM writes the tables of routing %s, found %s", subnet.FromManager, b.Routing))
		}
		return
	}
	if s.Args != "" {
		b.fail("manager.args", fmt.Errorf("they are of method %s, found %s: leave them out", opensm.Method, s.Method))
	}
	m, err := manage.Parse(s.Method)
	b.fail("manager.method", err)
	b.Manager = m
	if routing, other := m.Routing(b.Routing); other && err == nil {
		b.Routing = routing
		b.firmware(ctx)
	}
}

// switches sets the options of the switches, once the firmware has said how many virtual channels
// it needs.
func (b *builder) switches() {
	s, o := b.settings.Switch, &b.Options
	needs := o.Switch.VCs
	o.Switch = s
	switch {
	case s.VCs == 0:
		o.Switch.VCs = b.Manager.VCs(needs)
	case s.VCs < needs:
		b.fail("switch.vcs", fmt.Errorf("%s needs at least %d virtual channels on %s, found %d",
			b.Routing, needs, o.Topology.Spec, s.VCs))
	}
	if o.Firmware.Route == nil || !s.Requeue {
		return
	}
	b.fail("switch.requeue", requeues(o.Firmware, o.Topology))
}

// requeues reports why packets cannot be routed again by a firmware.
func requeues(f switching.Firmware, g *topology.Graph) error {
	for _, s := range g.Switches {
		if err := f.Requeues(g.Place(s.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) notices() {
	o := &b.Options
	if o.Firmware.Route != nil && !o.Firmware.Notifies && o.NIC.Notices.Time() > 0 {
		var these []string
		for _, f := range firmware.All() {
			if f.Notifies {
				these = append(these, f.Name)
			}
		}
		b.fail("nic.notices", fmt.Errorf("%s notifies no sources of discards; these do: %s",
			b.Routing, strings.Join(these, ", ")))
	}
}

// liveness checks how ends find out about silent neighbours, and what becomes of links that flap.
func (b *builder) liveness() {
	c := b.settings.Liveness.Detector()
	if !b.settings.Liveness.Interval.Off() {
		c.Interval = cmp.Or(c.Interval, fabric.DefaultInterval)
	}
	each(c.Validate(), func(err error) { b.fail("liveness", err) })
}

// traffic reads what NICs inject, once the topology, the NICs and the links are read.
func (b *builder) traffic() {
	o := &b.Options
	if b.settings.Traffic == "" || b.Routing == subnet.None {
		return
	}
	t, err := Traffic(b.settings.Traffic, *o)
	b.fail("traffic", err)
	o.Traffic = t
}

// Traffic reads traffic for a fabric with these options.
func Traffic(text string, o fabric.Options) (nic.Traffic, error) {
	t, err := settings.ParseTraffic(text)
	if err == nil && o.Topology != nil {
		err = o.Fits(t)
	}
	return t, err
}
