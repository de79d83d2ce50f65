package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// VerbMove is the verb of a [MoveRequest], answered by a [fabric.Moved].
const VerbMove = "move"

// MoveRequest orders that another host run a switch.
type MoveRequest struct {
	Switch string `json:"switch"`
	Host   string `json:"host,omitempty"` // by name; empty is the host that the placement gives it
}

// MoveOrder is the body of that order. The zero value is what an empty body means.
type MoveOrder struct {
	Host string `json:"host,omitempty" jsonschema_description:"The host that is to run it, by the name of its agent; without it the host that the placement gives it."`
}

// UnmarshalJSON is strict: with a misspelt field the switch would go to its own host.
func (r *MoveRequest) UnmarshalJSON(data []byte) error {
	type plain MoveRequest
	return strictly(data, (*plain)(r))
}

// moveTime is how long the server waits for a move. Chosen by us: less than [requestTime], so that
// the answer to a slow move says that the switch is still on its way.
const moveTime = 25 * time.Second

// move serves VerbMove.
func (s *Server) move(ctx context.Context, r MoveRequest) (fabric.Moved, error) {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	return s.mover(ctx, r.Switch, r.Host)
}

// move handles the order to move the switch that the path names.
func (w *Web) move(r *http.Request) (any, error) {
	o, err := body[MoveOrder](r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("id")
	if _, err := w.Server.fabric.Topology().SwitchByName(name); err != nil {
		return nil, notFound(err)
	}
	m, err := w.Server.move(r.Context(), MoveRequest{Switch: name, Host: o.Host})
	switch {
	case errors.Is(err, fabric.ErrUnknown):
		return nil, notFound(err)
	case err != nil:
		return nil, coded{err, http.StatusServiceUnavailable}
	}
	return m, nil
}

// Move has another host run a switch; an empty host is the one that the placement gives it. It
// returns when the switch runs there and its links are up.
func (c *Client) Move(ctx context.Context, sw, host string) (fabric.Moved, error) {
	return askWithin[fabric.Moved](ctx, c, requestTime, VerbMove, MoveRequest{Switch: sw, Host: host})
}
