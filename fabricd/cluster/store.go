package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// Desired is the fabric that somebody has asked for: what it takes to lead it, and nothing that
// changes while it runs.
type Desired struct {
	Version bus.Build `json:"version"`
	// by the clock of who asked; it tells a fabric from one of the same name before
	Created  time.Time       `json:"created"`
	Topology []byte          `json:"topology"`      // a topology file, compressed as [wire.Compress] does
	Spec     string          `json:"spec"`          // what it is called
	Settings json.RawMessage `json:"settings"`      // of fabricd up
	File     []byte          `json:"-"`             // of the routing, see [subnet.Pin]; nil: it needs none
	Chunks   chunks          `json:"file,omitzero"` // that have File, compressed likewise
}

// Graph is the topology.
func (d Desired) Graph() (*topology.Graph, error) {
	text, err := wire.Decompress(d.Topology)
	if err != nil {
		return nil, fmt.Errorf("cluster: read the topology of the fabric: %w", err)
	}
	return topology.Load(d.Spec, text)
}

// placed is a placement as it is written down.
type placed struct {
	Hosts []placedHost `json:"hosts"`
	Parts []placedHost `json:"parts,omitempty"` // the same, as an older fabricd writes it: until 0.2.0
}

type placedHost struct {
	Agent    string      `json:"agent"`
	Switches []host.Span `json:"switches"`
}

// StateStore reads and writes what the store keeps of a fabric. The leader alone writes.
type StateStore struct {
	Store *bus.Store
}

// OpenStore opens what is written down of a fabric. Existing: do not begin to. The error wraps
// [bus.ErrNoStore] where the broker keeps nothing, [reply.ErrDenied] where it keeps nothing for us,
// and [reply.ErrNoKey] when nothing is written down of an existing one.
func OpenStore(ctx context.Context, name string, at bus.Resolved, existing bool) (StateStore, error) {
	s, err := bus.OpenStore(ctx,
		bus.StoreConfig{Fabric: name, URL: at.URL, Credentials: at.Credentials, Existing: existing})
	switch {
	case errors.Is(err, reply.ErrDenied):
		err = fmt.Errorf("a fabric on agents is written down at the broker: %w", err)
	case errors.Is(err, bus.ErrNoStore):
		err = fmt.Errorf("%w: a fabric on agents is written down there: %s", err, bus.NoStoreHelp)
	}
	return StateStore{Store: s}, err
}

// Desired reads the fabric that is wanted; there is false when there is none.
func (b StateStore) Desired(ctx context.Context) (d Desired, there bool, err error) {
	if there, err = b.read(ctx, keyFabric, &d); err != nil || d.Chunks.Count == 0 {
		return d, there, err
	}
	packed, err := b.readChunks(ctx, d.Chunks)
	if err == nil {
		d.File, err = wire.Decompress(packed)
	}
	return d, there, err
}

// Placement reads where the switches of a fabric are.
func (b StateStore) Placement(ctx context.Context, g *topology.Graph) (*placement.Placement, error) {
	var p placed
	there, err := b.read(ctx, keyPlacement, &p)
	if err == nil && !there {
		err = errors.New("cluster: the store has the fabric and not its placement: " +
			"end it with fabricd down and start it again")
	}
	if err != nil {
		return nil, err
	}
	of := make([]int, len(g.Switches))
	for s := range of {
		of[s] = -1
	}
	var agents []string
	for i, q := range append(p.Hosts, p.Parts...) {
		agents = append(agents, q.Agent)
		for _, s := range (host.Placement{Switches: q.Switches}).SwitchIDs() {
			if int(s) < len(of) {
				of[s] = i
			}
		}
	}
	return placement.PlaceAs(g, agents, of)
}

// Begin writes a fabric down that is to be, and where. The error wraps reply.ErrConflict when there
// is one.
func (b StateStore) Begin(ctx context.Context, d Desired, p *placement.Placement) error {
	var w placed
	for _, q := range p.Hosts {
		w.Hosts = append(w.Hosts, placedHost{Agent: q.Agent, Switches: host.Spans[weft.SwitchID](q.Switches)})
	}
	// A fabric that is written down has a placement, and no state of one before it, whose end may
	// have been broken off.
	if err := b.dropState(ctx); err != nil {
		return err
	}
	if d.File != nil {
		packed, err := wire.Compress(d.File)
		if err != nil {
			return err
		}
		if d.Chunks, err = b.writeChunks(ctx, chunks{File: true}, packed); err != nil {
			return err
		}
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := b.Store.Put(ctx, keyPlacement, data); err != nil {
		return err
	}
	if data, err = json.Marshal(d); err != nil {
		return err
	}
	_, err = b.Store.Create(ctx, keyFabric, data)
	return err
}

// End takes away what is written down of the fabric.
func (b StateStore) End(ctx context.Context) error {
	// That it was ended before that it is no more, and the fabric before the others, which mean
	// nothing without it.
	return errors.Join(b.Store.Put(ctx, keyEnded, []byte("true")),
		b.Store.Delete(ctx, keyFabric), b.dropState(ctx), b.Store.Delete(ctx, keyPlacement))
}

// dropState takes the state away, the tables it names, and the file of the routing.
func (b StateStore) dropState(ctx context.Context) error {
	k, _, err := b.readState(ctx)
	_, left := b.dropChunks(ctx, chunks{File: true})
	return errors.Join(b.Store.Delete(ctx, keyState), b.dropChunksOf(ctx, k), err, left)
}

// EndedSince reports whether a fabric of the name was ended after a revision of the store. One that
// is not written down and was not ended has never begun: who wanted it was killed before.
func (b StateStore) EndedSince(ctx context.Context, rev uint64) (bool, error) {
	_, at, err := b.Store.Get(ctx, keyEnded)
	if errors.Is(err, reply.ErrNoKey) {
		return false, nil
	}
	return at > rev, err
}

func (b StateStore) read(ctx context.Context, key string, out any) (there bool, err error) {
	data, _, err := b.Store.Get(ctx, key)
	switch {
	case errors.Is(err, reply.ErrNoKey):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return false, fmt.Errorf("cluster: read %s in the store: %w: did another version of fabricd write it?", key,
			err)
	}
	return true, nil
}
