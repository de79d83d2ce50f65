package api

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/settings"
)

// TrafficRequest replaces what all NICs inject.
type TrafficRequest struct {
	Traffic string `json:"traffic"` // as fabricd up --traffic has it; none stops them
}

// TrafficAnswer says that the NICs inject it.
type TrafficAnswer struct {
	Note string `json:"note,omitempty"` // what else there is to know, as that the next leader would not know of it
}

// traffic serves VerbTraffic.
func (s *Server) traffic(ctx context.Context, r TrafficRequest) (a TrafficAnswer, err error) {
	t, err := settings.ParseTraffic(r.Traffic)
	if err == nil {
		a.Note, err = s.fabric.ReplaceTraffic(ctx, t)
	}
	return a, err
}
