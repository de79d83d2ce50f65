package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// VerbLoad is the verb of a [LoadRequest], answered by a [LoadResult].
const VerbLoad = "load"

// LoadRequest orders that switches run another firmware, each at once and between two packets.
type LoadRequest struct {
	Switches []string `json:"switches,omitempty" jsonschema_description:"By name; none: all."`
	Routing  string   `json:"routing" jsonschema_description:"The firmware, by name, as for fabricd up."`
	File     []byte   `json:"file,omitempty" jsonschema_description:"The module, in base64, of a routing wasm:PATH@HASH."`
	Check    bool     `json:"check,omitempty" jsonschema_description:"Change nothing, only say whether they could run it."`
}

// UnmarshalJSON is strict: with a misspelt field every switch would change.
func (r *LoadRequest) UnmarshalJSON(data []byte) error {
	type plain LoadRequest
	return strictly(data, (*plain)(r))
}

// LoadResult says what switches run.
type LoadResult struct {
	Routing  string   `json:"routing"`
	Switches []string `json:"switches"` // that were asked about and run it now, or could
	Running  int      `json:"running" jsonschema_description:"How many of these run it."`
}

// load serves VerbLoad. All switches must be able to run the firmware, before any does. When one
// does not answer, those before it run it already.
func (s *Server) load(ctx context.Context, r LoadRequest) (out LoadResult, err error) {
	g := s.fabric.Topology()
	var ids []weft.SwitchID
	for _, name := range r.Switches {
		sw, err := g.SwitchByName(name)
		if err != nil {
			return out, notFound(err)
		}
		ids = append(ids, sw)
	}
	if len(r.Switches) == 0 {
		for _, sw := range g.Switches {
			ids = append(ids, sw.ID)
		}
	}
	if err = subnet.Keep(r.Routing, r.File); err == nil {
		err = subnet.Sent(r.Routing)
	}
	if err != nil {
		return out, coded{err, http.StatusUnprocessableEntity}
	}
	fw, err := s.made(ctx, r.Routing)
	for i := 0; err == nil && i < len(ids); i++ {
		err = s.fabric.CanRun(ids[i], &fw)
	}
	if err != nil {
		return out, coded{err, http.StatusUnprocessableEntity}
	}
	out.Routing = r.Routing
	for _, id := range ids {
		name := g.Switches[id].Name
		if !r.Check {
			if err := s.fabric.LoadFirmware(ctx, id, fw, r.Routing); err != nil {
				err = fmt.Errorf("%w; %d of %d switches run %s", err, len(out.Switches), len(ids), r.Routing)
				return out, coded{err, http.StatusServiceUnavailable}
			}
		}
		out.Switches = append(out.Switches, name)
		if s.fabric.Runs(id, r.Routing) {
			out.Running++
		}
	}
	return out, nil
}

// RoutingView is a routing that switches can be loaded with, if it fits.
type RoutingView struct {
	Name    string          `json:"name"`
	About   string          `json:"about"`
	Options []RoutingOption `json:"options,omitempty" jsonschema_description:"What can follow the name, as updn:layers=2,tree=dfs."`
	Unfit   string          `json:"unfit,omitempty" jsonschema_description:"Why switches of this fabric cannot run it. Of a routing with tables only its topology is checked: the order to load it computes them."`
}

// RoutingOption is an option of a routing.
type RoutingOption struct {
	Name   string `json:"name"`
	Values string `json:"values" jsonschema_description:"That it takes, in words."`
	About  string `json:"about"`
}

func (s *Server) listRoutings() []RoutingView {
	var list []RoutingView
	for _, e := range subnet.Entries() {
		v := RoutingView{Name: e.Name, About: e.About}
		for _, k := range e.Keys {
			v.Options = append(v.Options, RoutingOption(k))
		}
		if err := s.unfit(e); err != nil {
			v.Unfit = err.Error()
		}
		list = append(list, v)
	}
	return list
}

// unfit says why switches cannot run a routing without its options; nil: they can.
func (s *Server) unfit(e subnet.Entry) error {
	g := s.fabric.Topology()
	if e.Routes != nil && e.Fits(g) {
		return nil
	}
	fw, _, err := subnet.Firmware(context.Background(), e.Name, g)
	for i := 0; err == nil && i < len(g.Switches); i++ {
		err = s.fabric.CanRun(g.Switches[i].ID, &fw)
	}
	return err
}

// made makes a firmware by name, and keeps the latest: a roll-out asks for the same again and
// again.
func (s *Server) made(ctx context.Context, routing string) (switching.Firmware, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loads != routing {
		fw, _, err := subnet.Firmware(ctx, routing, s.fabric.Topology())
		if err != nil {
			return fw, err
		}
		s.loads, s.loadsFirmware = routing, fw
	}
	return s.loadsFirmware, nil
}

// load handles the order to load firmware.
func (w *Web) load(r *http.Request) (any, error) {
	o, err := body[LoadRequest](r)
	if err != nil {
		return nil, err
	}
	return w.Server.load(r.Context(), o)
}

// Load has switches run another firmware, and returns when they do.
func (c *Client) Load(ctx context.Context, r LoadRequest) (LoadResult, error) {
	return askWithin[LoadResult](ctx, c, requestTime, VerbLoad, r)
}
