package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Progress is how far an order is.
type Progress struct {
	*Order
	What   string  `json:"what"` // the pieces
	Pieces int     `json:"pieces"`
	Done   int     `json:"done"`
	Hosts  []Host  `json:"hosts"`
	Aside  []Aside `json:"aside"` // pieces without a result
}

// Host is what one worker has done.
type Host struct {
	Name string `json:"name"`
	Share
	Rate float64 `json:"rate"` // pieces a second, from its first to its last
}

// Look returns how far an order is.
func Look(ctx context.Context, j *bus.Jobs, o *Order) (*Progress, error) {
	p := &Progress{Order: o, Hosts: []Host{}, Aside: []Aside{}}
	keys, err := j.Keys(ctx, "at."+o.ID+".>")
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	for _, key := range keys {
		words := strings.Split(key, ".")
		switch words[2] {
		case "stage":
			s, err := get[Stage](ctx, j, key)
			if err != nil {
				return nil, err
			}
			p.What, p.Pieces = s.What, p.Pieces+s.Total
		case "host":
			s, err := get[Share](ctx, j, key)
			if err != nil {
				return nil, err
			}
			h := Host{Name: words[3], Share: *s}
			if t := s.Last.Sub(s.Began).Seconds(); t > 0 {
				h.Rate = float64(s.Pieces) / t
			}
			p.Hosts, p.Done = append(p.Hosts, h), p.Done+s.Pieces
		}
	}
	if o.State == Done { // a worker that was killed has not said what it did last
		p.Done = p.Pieces
	}
	aside, err := j.Keys(ctx, "got."+o.ID+".*"+asideTail)
	if err != nil {
		return nil, err
	}
	for _, key := range aside {
		a, err := get[Aside](ctx, j, key)
		switch {
		case err == nil:
			p.Aside = append(p.Aside, *a)
		case !errors.Is(err, reply.ErrNoKey):
			return nil, err
		}
	}
	return p, nil
}
