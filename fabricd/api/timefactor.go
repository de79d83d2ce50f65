package api

import (
	"context"
	"net/http"

	"github.com/weft-fabric/weft/fabricd/leader"
)

// TimeFactorRequest has the clock of the fabric go with a factor.
type TimeFactorRequest struct {
	Factor float64 `json:"factor" jsonschema_description:"0.001 to 100; 1 is the time of the machine."`
}

// UnmarshalJSON is strict.
func (r *TimeFactorRequest) UnmarshalJSON(data []byte) error {
	type plain TimeFactorRequest
	return strictly(data, (*plain)(r))
}

// timeFactor serves VerbTimeFactor.
func (s *Server) timeFactor(_ context.Context, r TimeFactorRequest) (leader.TimeFactor, error) {
	to := leader.TimeFactor(r)
	if err := s.fabric.SetTimeFactor(to); err != nil {
		return to, coded{err, http.StatusUnprocessableEntity}
	}
	return to, nil
}

func (w *Web) timeFactor(r *http.Request) (any, error) {
	o, err := body[TimeFactorRequest](r)
	if err != nil {
		return nil, err
	}
	return w.Server.timeFactor(r.Context(), o)
}

// SetTimeFactor has the clock of the fabric go with a factor.
func (c *Client) SetTimeFactor(ctx context.Context, r TimeFactorRequest) (leader.TimeFactor, error) {
	return ask[leader.TimeFactor](ctx, c, VerbTimeFactor, r)
}
