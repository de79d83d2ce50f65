package bus

import (
	"errors"
	"maps"
	"slices"

	"github.com/weft-fabric/weft/switch/wire"
)

// Cuts of a NATS transport act in three places. The sender stops, so that no frame sent while the
// link was cut can arrive after Restore. The broker, when it is ours, drops what anybody publishes.
// The demultiplexer drops what was past the broker already, and is the last word where the broker
// is not ours.

// cutState is which links are cut, and what the broker was told. Guarded by NATS.mu.
type cutState struct {
	fabric    string
	layout    *Layout
	broker    *Broker // nil: the ends alone enforce
	wholeNode bool    // this process knows all ports of its nodes, so that one mapping can stand for them

	known   map[bundle]int                    // directions per bundle
	cut     map[bundle]map[*natsLink]struct{} // by bundle
	applied map[string]int                    // mappings at the broker, with the number of directions each stands for
	atEnds  int                               // directions for which the broker had no mapping left
}

// bundle is all links from a node to the nodes of one shard. One mapping cuts no less than that:
// the server takes a wildcard in the last token of a mapping only.
type bundle struct {
	node string
	to   int
}

func (c *cutState) bundle(d wire.Direction) bundle { return bundle{d.From, c.layout.Shard(d.To)} }

func newCutState(cfg NATSConfig) cutState {
	return cutState{
		fabric: cfg.Fabric, layout: cfg.Layout, broker: cfg.Broker, wholeNode: cfg.Subscription == PerShard,
		known: make(map[bundle]int), cut: make(map[bundle]map[*natsLink]struct{}), applied: make(map[string]int),
	}
}

// Cut implements Transport. An error of the broker leaves the cut in force at the ends.
func (t *NATS) Cut(ds ...wire.Direction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	links, err := t.resolve(ds)
	if err != nil {
		return err
	}
	touched := make(map[*shard]struct{})
	for _, l := range links {
		l.cut.Store(true)
		if l.in != nil {
			touched[l.in] = struct{}{}
		}
		of := t.cuts.bundle(l.d)
		if t.cuts.cut[of] == nil {
			t.cuts.cut[of] = make(map[*natsLink]struct{})
		}
		t.cuts.cut[of][l] = struct{}{}
	}
	err = t.cuts.apply()
	for s := range touched {
		s.fence()
	}
	return err
}

// Restore implements Transport.
func (t *NATS) Restore(ds ...wire.Direction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	links, err := t.resolve(ds)
	if err != nil {
		return err
	}
	for _, l := range links {
		of := t.cuts.bundle(l.d)
		delete(t.cuts.cut[of], l)
		if len(t.cuts.cut[of]) == 0 {
			delete(t.cuts.cut, of)
		}
	}
	err = t.cuts.apply()
	for _, l := range links { // last, so that whatever is sent from here on gets through
		l.cut.Store(false)
	}
	return err
}

// resolve finds all links before anything is done to one.
func (t *NATS) resolve(ds []wire.Direction) ([]*natsLink, error) {
	links := make([]*natsLink, len(ds))
	for i, d := range ds {
		l, err := t.link(d)
		if err != nil {
			return nil, err
		}
		links[i] = l
	}
	return links, nil
}

// Enforcement implements Transport.
func (t *NATS) Enforcement() wire.Enforcement {
	if t.cfg.Broker == nil {
		return wire.EnforcedAtEnds
	}
	return wire.EnforcedByBroker
}

// fence returns when no delivery that began before it is still going on.
func (s *shard) fence() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

// wanted is the mappings that enforce all cuts, with the number of directions each stands for. A
// node whose links are all cut takes one for each shard that they lead to, because the broker scans
// its mappings for every message.
func (c *cutState) wanted() map[string]int {
	want := make(map[string]int)
	for of, links := range c.cut {
		if c.wholeNode && c.layout.owns(of.node) && len(links) > 1 && len(links) == c.known[of] {
			want[allFrom(c.fabric, c.layout.Shard(of.node), of.to, of.node)] = len(links)
			continue
		}
		for l := range links {
			want[l.subject] = 1
		}
	}
	return want
}

// apply brings the broker's mappings in line with the cuts: first the new, then the old, so that
// nothing leaks between.
func (c *cutState) apply() error {
	if c.broker == nil {
		return nil
	}
	var errs []error
	want := c.wanted()
	room := maxCuts
	for subject := range c.applied {
		if _, ok := want[subject]; ok {
			room--
		}
	}
	c.atEnds = 0
	for _, subject := range slices.Sorted(maps.Keys(want)) {
		if _, ok := c.applied[subject]; ok {
			c.applied[subject] = want[subject]
			continue
		}
		if room == 0 {
			c.atEnds += want[subject]
			continue
		}
		if err := c.broker.cut(subject); err != nil {
			errs = append(errs, err)
			c.atEnds += want[subject]
			continue
		}
		room--
		c.applied[subject] = want[subject]
	}
	for subject := range c.applied {
		if _, ok := want[subject]; !ok {
			c.broker.restore(subject)
			delete(c.applied, subject)
		}
	}
	return errors.Join(errs...)
}

func (c *cutState) stats() wire.Stats {
	return wire.Stats{CutsAtBroker: len(c.applied), CutsAtEnds: c.atEnds}
}

func (c *cutState) clear() error {
	clear(c.cut)
	return c.apply()
}
