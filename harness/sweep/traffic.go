package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/inputs"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
)

// traced is traffic from a file.
type traced struct {
	nic.Traffic
	err    error
	digest string // of the file
}

// traffic checks load and pattern.
func (b *builder) traffic(s *settled, c *measure.Config, bad func(string, error)) {
	if file, ok := strings.CutPrefix(s.pattern(), "trace:"); ok {
		b.trace(s, file, c, bad)
		return
	}
	if s.Load == nil {
		bad("load", fmt.Errorf("there is no load: give it in base, or by an axis"))
		return
	}
	pattern, options, more := strings.Cut(s.pattern(), ",")
	if name, _, loaded := strings.Cut(pattern, ":"); loaded {
		bad("traffic", fmt.Errorf("%q: the load is a field of its own: write %q, and load beside it", s.pattern(), name))
		return
	}
	if pattern == "none" || pattern == "" {
		bad("traffic", fmt.Errorf("%q is no traffic, so there is nothing to measure", s.pattern()))
		return
	}
	load, err := b.load(s)
	if err != nil {
		bad("load", err)
		return
	}
	if !(load > 0 && load <= 1) {
		bad("load",
			fmt.Errorf("a load of %v is impossible: it is the share of a link's capacity that each NIC offers, above 0 and at "+
				"most 1", *s.Load))
		return
	}
	text := pattern + ":" + formatFloat(load)
	if more {
		text += "," + options
	}
	c.Traffic, err = settings.ParseTraffic(text)
	b.fit(c, err, bad)
}

// trace reads the packets of a file, which come at their own times.
func (b *builder) trace(s *settled, file string, c *measure.Config, bad func(string, error)) {
	if s.Load != nil {
		bad("load", fmt.Errorf("the packets of a trace come at their own times, whatever the load is: leave load out"))
		return
	}
	t := b.traces[s.pattern()]
	if t == nil {
		t = &traced{}
		if t.Traffic, t.err = settings.ParseTraffic(s.pattern()); t.err == nil {
			t.digest = digest(file)
		}
		b.traces[s.pattern()] = t
	}
	c.Traffic = t.Traffic
	b.fit(c, t.err, bad)
}

// fit checks that the network can have the traffic.
func (b *builder) fit(c *measure.Config, err error, bad func(string, error)) {
	if err == nil && c.Topology != nil {
		err = c.Traffic.Fits(c.Over(nil))
	}
	bad("traffic", err)
	largest := cmp.Or(c.Traffic.Largest(), c.NIC.PacketBytes)
	if c.NIC.QueueBytes > 0 && c.NIC.QueueBytes < largest {
		bad("queue_bytes", fmt.Errorf("a send queue of %d bytes cannot hold a packet of %d", c.NIC.QueueBytes, largest))
	}
}

// pattern is the traffic without its load.
func (s *settled) pattern() string {
	if s.Traffic == nil {
		return "uniform"
	}
	return *s.Traffic
}

// load is the load as a number.
func (b *builder) load(s *settled) (float64, error) {
	if x, ok := s.Load.number(); ok {
		return x, nil
	}
	var names []string
	for _, l := range b.loads {
		if l.Name == string(*s.Load) && (l.Topology == "" || l.Topology == get(s.Topology)) &&
			(l.Traffic == "" || l.Traffic == s.pattern()) {
			return l.Load, nil
		}
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	if slices.Contains(names, string(*s.Load)) {
		return 0, fmt.Errorf("loads has no %s for %s with traffic %s: add it", *s.Load, get(s.Topology), s.pattern())
	}
	if names == nil {
		return 0, fmt.Errorf("a load is a number or a name from loads, of which there are none: found %q", *s.Load)
	}
	return 0, document.Unknown("load", string(*s.Load), names)
}

// digest is the SHA-256 of a file; empty if there is none of that name.
func digest(path string) string {
	data, err := inputs.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// builtIn is firmware that comes with Weft: the version of the program says which.
const builtIn = "built-in"

// firmwareOf is the SHA-256 of the module or program that a routing names; empty if it comes with
// Weft.
func firmwareOf(routing string) string {
	if _, module, err := subnet.Pin(routing); err == nil && module != nil {
		return fmt.Sprintf("%x", sha256.Sum256(module))
	}
	if rest, ok := strings.CutPrefix(routing, "exec:"); ok {
		path, _, _ := strings.Cut(rest, ":")
		return digest(path)
	}
	return ""
}

// files are the digests of the files that a run depends on, each with its setting; firmware is that
// of the routing.
func (b *builder) files(s *settled, firmware string) (list []string) {
	if g := b.graphs[get(s.Topology)]; g != nil && g.digest != "" {
		list = append(list, "topology file "+g.digest)
	}
	if firmware != "" {
		list = append(list, "module "+firmware)
	}
	if t := b.traces[s.pattern()]; t != nil {
		list = append(list, "trace file "+t.digest)
	}
	return list
}
