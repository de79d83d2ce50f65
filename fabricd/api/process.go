package api

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
)

// processVerbs are what processes request that are to be, or are, switches of the fabric; see fabricd/member.
func (s *Server) processVerbs() map[string]bus.Handler {
	return map[string]bus.Handler{
		member.VerbJoin: func(_ context.Context, req []byte) (any, error) {
			var r member.JoinRequest
			if err := decode(req, &r); err != nil {
				return nil, err
			}
			return s.fabric.Join(r)
		},
		member.VerbAttach: func(ctx context.Context, req []byte) (any, error) {
			var r member.AttachRequest
			if err := decode(req, &r); err != nil {
				return nil, err
			}
			return nil, s.fabric.Attach(ctx, r)
		},
		member.VerbLeave: func(ctx context.Context, req []byte) (any, error) {
			var r member.AttachRequest
			if err := decode(req, &r); err != nil {
				return nil, err
			}
			return nil, s.fabric.Leave(ctx, r)
		},
	}
}
