package api

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
)

// What processes request that are to be, or are, switches of the fabric; see fabricd/member.

func (s *Server) join(ctx context.Context, r host.JoinRequest) (host.Spec, error) {
	mine := bus.Build{Protocol: bus.Protocol}
	if err := mine.Fits("the process that is to be switch "+r.Switch, bus.RequesterOf(ctx).Build); err != nil {
		return host.Spec{}, err
	}
	return s.fabric.Join(r)
}

func (s *Server) attach(ctx context.Context, r host.AttachRequest) (any, error) {
	return nil, s.fabric.Attach(ctx, r)
}

func (s *Server) leave(ctx context.Context, r host.AttachRequest) (any, error) {
	return nil, s.fabric.Leave(ctx, r)
}
