package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// The bodies of orders. The zero value of each is what an empty body means.
type (
	// CutOrder cuts a link.
	CutOrder struct {
		Direction fault.Direction `json:"direction,omitempty" jsonschema_description:"to: only from its first end, as named, to the other; from: only the other way; both unless given."`
		Silent    bool            `json:"silent,omitempty" jsonschema_description:"Nobody is told, the ends must find out."`
		For       fault.Duration  `json:"for,omitempty" jsonschema_description:"It ends by itself after this long, as 10s."`
	}
	// FlapOrder has a link go down and up.
	FlapOrder struct {
		fault.Flap
		CutOrder
	}
	// ImpairOrder changes what a link suffers; what is not named stays.
	ImpairOrder struct {
		fault.Impair
		Direction fault.Direction `json:"direction,omitempty" jsonschema_description:"to: only from its first end, as named, to the other; from: only the other way; both unless given."`
		For       fault.Duration  `json:"for,omitempty" jsonschema_description:"It ends by itself after this long, as 10s."`
		Clear     bool            `json:"clear,omitempty" jsonschema_description:"It suffers nothing any more. Give no figures then."`
	}
	// RestoreOrder repairs a link.
	RestoreOrder struct {
		Direction fault.Direction `json:"direction,omitempty" jsonschema_description:"to: only from its first end, as named, to the other; from: only the other way; both unless given."`
	}
	// CrashOrder crashes a switch.
	CrashOrder struct {
		For fault.Duration `json:"for,omitempty" jsonschema_description:"It starts again by itself after this long, as 10s."`
	}
	// RestartOrder starts a crashed switch again.
	RestartOrder struct{}
	// HealOrder repairs everything.
	HealOrder struct{}
)

func (o CutOrder) spec() (fault.Spec, error) {
	return fault.Spec{Do: fault.VerbCut, Direction: o.Direction, Silent: o.Silent, For: o.For}, nil
}

func (o FlapOrder) spec() (fault.Spec, error) {
	s, err := o.CutOrder.spec()
	s.Do, s.Flap = fault.VerbFlap, &o.Flap
	return s, err
}

func (o ImpairOrder) spec() (fault.Spec, error) {
	s := fault.Spec{Do: fault.VerbImpair, Direction: o.Direction, For: o.For, Impair: &o.Impair}
	if o.Clear {
		if o.Impair != (fault.Impair{}) || o.For != 0 {
			return s, fmt.Errorf("clear with figures: to end what a link suffers give clear alone, or with a direction")
		}
		s.Impair = &fault.Impair{
			Loss: new(fault.Percent(0)), Delay: new(fault.Duration(0)), Jitter: new(fault.Duration(0)),
			Rate: new(fault.Rate(0)),
		}
	}
	return s, nil
}

func (o RestoreOrder) spec() (fault.Spec, error) {
	return fault.Spec{Do: fault.VerbRestore, Direction: o.Direction}, nil
}

func (o CrashOrder) spec() (fault.Spec, error) {
	return fault.Spec{Do: fault.VerbCrash, For: o.For}, nil
}

func (RestartOrder) spec() (fault.Spec, error) { return fault.Spec{Do: fault.VerbRestart}, nil }
func (HealOrder) spec() (fault.Spec, error)    { return fault.Spec{Do: fault.VerbHeal}, nil }

// order handles the order whose body makes a spec, on the link or switch that the path names.
func order[T any](w *Web, spec func(T) (fault.Spec, error)) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		o, err := body[T](r)
		if err != nil {
			return nil, err
		}
		s, err := spec(o)
		if err != nil {
			return nil, err
		}
		s.A = r.PathValue("id")
		if err := w.Server.names(s); err != nil {
			return nil, notFound(err)
		}
		return w.Server.order(r.Context(), s)
	}
}

// names checks that what the path names is there.
func (s *Server) names(o fault.Spec) (err error) {
	switch g := s.fabric.Topology(); o.Do {
	case fault.VerbHeal:
	case fault.VerbCrash, fault.VerbRestart:
		_, err = g.SwitchByName(o.A)
	default:
		_, err = g.LinkByName(o.A)
	}
	return err
}

// order does one thing.
func (s *Server) order(ctx context.Context, o fault.Spec) (fabric.Outcome, error) {
	out, err := s.fabric.Apply(ctx, o)
	if err != nil && len(out) > 0 {
		return out[0], coded{fmt.Errorf("it was done, but did not come off: %w", err), http.StatusServiceUnavailable}
	}
	if err != nil {
		return fabric.Outcome{}, err
	}
	return out[0], nil
}
