package api

import (
	"context"
	"net/http"
)

// TimeFactor is how fast the clock of a fabric may go.
type TimeFactor struct {
	Factor float64 `json:"time_factor" jsonschema_description:"0.001 to 100; 1 is the time of the machine."`
	Fixed  bool    `json:"fixed,omitempty" jsonschema_description:"It does not go slower while the machine is late."`
}

// UnmarshalJSON is strict.
func (t *TimeFactor) UnmarshalJSON(data []byte) error {
	type plain TimeFactor
	return strictly(data, (*plain)(t))
}

// timeFactor serves VerbTimeFactor.
func (s *Server) timeFactor(_ context.Context, to TimeFactor) (TimeFactor, error) {
	if err := s.fabric.SetTimeFactor(to.Factor, to.Fixed); err != nil {
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

// SetTimeFactor has the clock of the fabric go so fast at most.
func (c *Client) SetTimeFactor(ctx context.Context, to TimeFactor) (TimeFactor, error) {
	return ask[TimeFactor](ctx, c, VerbTimeFactor, to)
}
