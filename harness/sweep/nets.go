package sweep

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/switch/firmware"
)

// nets makes graphs and computed routes, and remembers the last ones: the runs of a sample follow
// each other, and many are of the same graph. Shared by all workers.
type nets struct {
	graphs recent[*topology.Graph]
	routes recent[computed]
}

// computed are the routes of an engine, as switches forward by them.
type computed struct {
	firmware firmware.Firmware
	layers   int
}

// remembered is how many of each are kept, chosen by us: those of one sample of the experiments
// that are shipped.
const remembered = 64

// recent remembers the values made last, by key.
type recent[V any] struct {
	mu    sync.Mutex
	of    map[string]*held[V] // guarded by mu
	order []string            // guarded by mu; bound: most
	most  int                 // 0: remembered
}

type held[V any] struct {
	once sync.Once
	v    V
	err  error
}

// get is the value of that key, made once however many ask for it at the same time.
func (r *recent[V]) get(key string, fresh func() (V, error)) (V, error) {
	r.mu.Lock()
	h := r.of[key]
	if h == nil {
		if r.of == nil {
			r.of = map[string]*held[V]{}
		}
		if len(r.order) == cmp.Or(r.most, remembered) {
			delete(r.of, r.order[0])
			r.order = append(r.order[:0], r.order[1:]...)
		}
		h = &held[V]{}
		r.of[key], r.order = h, append(r.order, key)
	}
	r.mu.Unlock()
	h.once.Do(func() { h.v, h.err = fresh() })
	return h.v, h.err
}

func (n *nets) graph(spec string) (*topology.Graph, error) {
	return n.graphs.get(spec, func() (*topology.Graph, error) { return topology.Parse(spec) })
}

func (n *nets) computed(ctx context.Context, spec, routing string) (computed, error) {
	return n.routes.get(spec+" "+routing, func() (c computed, err error) {
		g, err := n.graph(spec)
		if err != nil {
			return c, err
		}
		c.firmware, c.layers, err = equip(ctx, routing, g)
		return c, err
	})
}

// routing is the name of the routing of a sample: with its holes filled, and with as many layers as
// another needs on its graph.
func (n *nets) routing(ctx context.Context, s *Settings, spec string, sample int) (string, error) {
	name, err := s.filled(get(s.Routing), sample)
	if err != nil || s.LayersOf == nil {
		return name, err
	}
	of, err := s.filled(*s.LayersOf, sample)
	if err != nil {
		return "", err
	}
	r, err := n.computed(ctx, spec, of)
	if err != nil {
		return "", fmt.Errorf("layers_of: %w", err)
	}
	return withLayers(name, r.layers), nil
}

// withLayers is the name of a routing with so many layers.
func withLayers(routing string, layers int) string {
	sep := ":"
	if strings.Contains(routing, ":") {
		sep = ","
	}
	return fmt.Sprintf("%s%slayers=%d", routing, sep, layers)
}

// fill gives a configuration what differs by sample, and computed routes, so that they are computed
// once for all loads; layers is how many these have.
func (n *nets) fill(
	ctx context.Context, c *measure.Config, s *Settings, sample int, kind string,
) (layers int, err error) {
	spec, err := s.filled(get(s.Topology), sample)
	if err != nil {
		return 0, err
	}
	if s.sampled() {
		if c.Topology, err = n.graph(spec); err != nil {
			return 0, err
		}
	}
	if kind == ofTolerate { // there is no routing
		return 0, nil
	}
	if c.Routing, err = n.routing(ctx, s, spec, sample); err != nil {
		return 0, err
	}
	if kind != ofNetwork || computes(c.Routing) != nil {
		return 0, nil
	}
	r, err := n.computed(ctx, spec, c.Routing)
	if err != nil {
		return 0, err
	}
	c.Firmware, c.Switch.VCs = r.firmware, cmp.Or(get(s.VCs), r.layers)
	return r.layers, nil
}
