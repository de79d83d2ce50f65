package api

import (
	"context"
	"net/http"
)

// TimeFactor is how fast the clock of a fabric goes, or is to go.
type TimeFactor struct {
	Factor float64 `json:"time_factor" jsonschema_description:"0.001 to 100; 1 is the time of the machine."`
}

// UnmarshalJSON is strict.
func (t *TimeFactor) UnmarshalJSON(data []byte) error {
	type plain TimeFactor
	return strictly(data, (*plain)(t))
}

// timeFactor serves VerbTimeFactor.
func (s *Server) timeFactor(_ context.Context, to TimeFactor) (TimeFactor, error) {
	if err := s.fabric.SetTimeFactor(to.Factor); err != nil {
		return to, coded{err, http.StatusUnprocessableEntity}
	}
	return to, nil
}

func (w *Web) timeFactor(r *http.Request) (any, error) {
	to, err := body[TimeFactor](r)
	if err != nil {
		return nil, err
	}
	return w.Server.timeFactor(r.Context(), to)
}

// SetTimeFactor has the clock of the fabric go so fast.
func (c *Client) SetTimeFactor(ctx context.Context, factor float64) (TimeFactor, error) {
	return ask[TimeFactor](ctx, c, VerbTimeFactor, TimeFactor{factor})
}
