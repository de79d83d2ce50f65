package api

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/trace"
)

// TrafficRequest replaces what all NICs inject.
type TrafficRequest struct {
	Traffic string `json:"traffic"` // as fabricd up --traffic has it; none stops them
}

// traffic serves VerbTraffic.
func (s *Server) traffic(_ context.Context, r TrafficRequest) (any, error) {
	t, err := trace.Traffic(r.Traffic)
	if err != nil {
		return nil, err
	}
	return nil, s.fabric.SetTraffic(t)
}
