package tolerate

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
)

// SetResult is what comes of one set of faults for some mechanisms. Pairs are ordered pairs of
// different switches.
type SetResult struct {
	Topology    string         `json:"topology"`
	Mechanisms  string         `json:"mechanisms"`
	Faults      []string       `json:"faults"` // links
	Tolerated   bool           `json:"tolerated"`
	Pairs       int            `json:"pairs"`
	Affected    int            `json:"pairs_affected"`
	Isolated    int            `json:"isolated_pairs"`     // no live links join them
	Unroutable  [][2]string    `json:"unroutable"`         // live links join them, and they have no way
	Parted      [][2]string    `json:"isolated,omitempty"` // the first of the isolated pairs, at most MaxParted
	ByMechanism map[string]int `json:"by_mechanism"`       // affected pairs, by the mechanisms of their way
	Ways        []WayResult    `json:"ways,omitzero"`      // nil: nobody asked

	Uses []UseCount `json:"-"` // ByMechanism, by number of mechanisms
}

// WayResult is how the packets of a pair go.
type WayResult struct {
	Src   string          `json:"src"`
	Dst   string          `json:"dst"`
	Hops  int             `json:"hops"`
	Uses  string          `json:"uses"` // mechanisms, as I+D
	Subs  []SubPathResult `json:"sub_paths"`
	Heads weft.SubHeaders `json:"header,omitzero"` // as a packet carries it
}

// SubPathResult is one sub-path of a way.
type SubPathResult struct {
	To            string   `json:"to"` // a switch
	Deterministic bool     `json:"deterministic,omitempty"`
	Misroutes     []string `json:"misroutes,omitempty"` // first, as "x+2": hops in a direction
	// dimensions half way round in which it goes down and not up, or up and not down
	OtherWay []string `json:"other_way,omitempty"`
}

// MaxParted bounds the isolated pairs that a [SetResult] names, chosen by us.
const MaxParted = 20

// Listed says which ways a [SetResult] lists.
type Listed struct {
	All bool         // of all affected pairs
	Of  *direct.Pair // of this pair alone
}

// Set judges one set of dead links between switches. The error is that the context has ended.
func (q *Query) Set(ctx context.Context, m direct.Mechanisms, dead []weft.LinkID, listed Listed,
) (r SetResult, err error) {
	s := q.solve(ctx, m, dead)
	if s == nil {
		return r, ctx.Err()
	}
	r = SetResult{
		Topology: q.Graph.Spec, Mechanisms: m.String(), Faults: q.names(dead), Tolerated: s.Tolerated(), Pairs: s.Pairs,
		Affected: s.Affected, Isolated: s.Excused, Unroutable: [][2]string{}, ByMechanism: map[string]int{},
	}
	for _, p := range s.Unroutable {
		r.Unroutable = append(r.Unroutable, q.pair(p))
	}
	for p := range s.Isolated() {
		if len(r.Parted) == MaxParted {
			break
		}
		r.Parted = append(r.Parted, q.pair(p))
	}
	for use, pairs := range s.Each() {
		r.ByMechanism[use.String()] = pairs
		r.Uses = append(r.Uses, UseCount{use.String(), pairs})
	}
	switch {
	case listed.Of != nil:
		r.Ways = []WayResult{}
		if w, ok := s.Way(listed.Of.Src, listed.Of.Dst); ok {
			r.Ways = append(r.Ways, q.way(w))
		}
	case listed.All:
		r.Ways = []WayResult{}
		for w := range s.All() {
			r.Ways = append(r.Ways, q.way(w))
		}
	}
	return r, nil
}

func (q *Query) way(w direct.Way) WayResult {
	ends := q.pair(direct.Pair{Src: w.Src, Dst: w.Dst})
	r := WayResult{Src: ends[0], Dst: ends[1], Hops: w.Length, Uses: w.Use.String(), Subs: []SubPathResult{}}
	r.Heads, _ = w.Headers() // more than a packet has room for: there are none
	for i, h := range w.Subs {
		s := SubPathResult{To: r.Dst, Deterministic: h.Deterministic()}
		if i < len(w.Subs)-1 {
			s.To = q.Graph.Name(h.To().Node())
		}
		for k := range weft.MaxMisroutes {
			if p, hops := h.Misroute(k); hops > 0 {
				s.Misroutes = append(s.Misroutes,
					fmt.Sprintf("%s%s%d", dimension(int(p)/2), []string{"-", "+"}[p%2], hops))
			}
		}
		for k := range q.Graph.Place(0).Grid.Dims {
			if h.OtherWay(k) {
				s.OtherWay = append(s.OtherWay, dimension(k))
			}
		}
		r.Subs = append(r.Subs, s)
	}
	return r
}

// dimension is the name of a dimension.
func dimension(i int) string { return string("xyzw"[i]) }
