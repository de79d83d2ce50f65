package tolerate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// tolerateGiven is what comes of one set of faults for some mechanisms: a line of --down --json.
type tolerateGiven struct {
	Topology    string         `json:"topology"`
	Mechanisms  string         `json:"mechanisms"`
	Faults      []string       `json:"faults"` // links
	Tolerated   bool           `json:"tolerated"`
	Pairs       int            `json:"pairs"`
	Affected    int            `json:"pairs_affected"`
	Isolated    int            `json:"isolated_pairs"`     // no live links join them
	Unroutable  [][2]string    `json:"unroutable"`         // live links join them, and they have no way
	Parted      [][2]string    `json:"isolated,omitempty"` // the first of the isolated pairs
	ByMechanism map[string]int `json:"by_mechanism"`
	Ways        []tolerateWay  `json:"ways,omitzero"` // nil: nobody asked

	uses []useCount
}

// tolerateWay is how the packets of a pair go.
type tolerateWay struct {
	Src   string          `json:"src"`
	Dst   string          `json:"dst"`
	Hops  int             `json:"hops"`
	Uses  string          `json:"uses"`
	Subs  []tolerateSub   `json:"sub_paths"`
	Heads weft.SubHeaders `json:"header,omitzero"`
}

// tolerateSub is one sub-path.
type tolerateSub struct {
	To            string   `json:"to"`
	Deterministic bool     `json:"deterministic,omitempty"`
	Misroutes     []string `json:"misroutes,omitempty"` // first, as "x+2": hops in a direction
	OtherWay      []string `json:"other_way,omitempty"` // dimensions half way round in which it goes down and not up, or up and not down
}

// maxParted bounds the isolated pairs that are listed, chosen by us.
const maxParted = 20

// given judges the set of the flags.
func (u *tolerateFlags) given(ctx context.Context, a tolerating, pair []string, stdout io.Writer) error {
	links, err := command.LinksOf(a.g, strings.Join(u.down, ","))
	if err != nil {
		return err
	}
	var dead []weft.LinkID
	for _, l := range links {
		if a.g.Links[l].BetweenSwitches() && !slices.Contains(dead, l) {
			dead = append(dead, l)
		}
	}
	if len(dead) == 0 {
		return fmt.Errorf("--down %s: links of NICs are on no way between switches: name links between switches", strings.Join(u.down, ","))
	}
	wanted := func(direct.Way) bool { return u.paths }
	var ends [2]weft.SwitchID
	for i, name := range pair {
		if ends[i], err = a.g.SwitchByName(name); err != nil {
			return err
		}
	}
	if len(pair) > 0 {
		if ends[0] == ends[1] {
			return fmt.Errorf("%s to itself: name two switches", pair[0])
		}
		wanted = func(w direct.Way) bool { return w.Src == ends[0] && w.Dst == ends[1] }
	}
	var list []tolerateGiven
	_, err = command.UnlessInterrupted(ctx, "nothing is told", func() (none struct{}, err error) {
		for _, m := range a.mechanisms {
			s := a.solve(m, dead)
			r := a.givenOf(m, dead, s)
			if u.paths || len(pair) > 0 {
				r.Ways = []tolerateWay{}
				for w := range s.All() {
					if wanted(w) {
						r.Ways = append(r.Ways, a.wayOf(w))
					}
				}
				if w, ok := s.Way(ends[0], ends[1]); len(pair) > 0 && ok && len(w.Subs) == 0 { // it is not affected
					r.Ways = append(r.Ways, a.wayOf(w))
				}
			}
			list = append(list, r)
		}
		return none, nil
	})
	if err != nil {
		return err
	}
	ok := true
	for _, r := range list {
		if err := u.line(stdout, r); err != nil {
			return err
		}
		ok = ok && r.Tolerated
	}
	return u.ended(stdout, func(w io.Writer) error { return printGiven(w, list, pair) }, nil, ok)
}

// solve finds the ways around a set of dead links, with all workers.
func (a tolerating) solve(m direct.Mechanisms, dead []weft.LinkID) *direct.Solution {
	return a.net.Solve(m, func(l *topology.Link) bool { return slices.Contains(dead, l.ID) }, func(n int, run func(int)) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range min(a.jobs, n) {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
					run(i)
				}
			})
		}
		wg.Wait()
	})
}

func (a tolerating) givenOf(m direct.Mechanisms, dead []weft.LinkID, s *direct.Solution) tolerateGiven {
	r := tolerateGiven{
		Topology: a.g.Spec, Mechanisms: m.String(), Faults: linkNames(a.g, dead), Tolerated: s.Tolerated(), Pairs: s.Pairs, Affected: s.Affected, Isolated: s.Excused,
		Unroutable: [][2]string{}, ByMechanism: map[string]int{},
	}
	for _, p := range s.Unroutable {
		r.Unroutable = append(r.Unroutable, a.names(p))
	}
	for p := range s.Isolated() {
		if len(r.Parted) == maxParted {
			break
		}
		r.Parted = append(r.Parted, a.names(p))
	}
	for use, pairs := range s.Each() {
		r.ByMechanism[use.String()] = pairs
		r.uses = append(r.uses, useCount{use.String(), pairs})
	}
	return r
}

func (a tolerating) names(p direct.Pair) [2]string {
	return [2]string{a.g.Name(p.Src.Node()), a.g.Name(p.Dst.Node())}
}

func (a tolerating) wayOf(w direct.Way) tolerateWay {
	r := tolerateWay{Src: a.g.Name(w.Src.Node()), Dst: a.g.Name(w.Dst.Node()), Hops: w.Length, Uses: w.Use.String(), Subs: []tolerateSub{}}
	r.Heads, _ = w.Headers() // more than a packet has room for: there are none
	for i, h := range w.Subs {
		s := tolerateSub{To: r.Dst, Deterministic: h.Deterministic()}
		if i < len(w.Subs)-1 {
			s.To = a.g.Name(h.To().Node())
		}
		for k := range weft.MaxMisroutes {
			if p, hops := h.Misroute(k); hops > 0 {
				s.Misroutes = append(s.Misroutes, fmt.Sprintf("%s%s%d", dimension(int(p)/2), []string{"-", "+"}[p%2], hops))
			}
		}
		for k := range a.g.Place(0).Grid.Dims {
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

func printGiven(w io.Writer, list []tolerateGiven, pair []string) error {
	fmt.Fprintf(w, "%s without %s: %s of switches\n\n", list[0].Topology, strings.Join(list[0].Faults, " "), command.Counted(list[0].Pairs, "pair"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "affected", "without a way", "by")
		for _, r := range list {
			var by []string
			for _, u := range r.uses {
				by = append(by, u.use+" "+command.Grouped(uint64(u.pairs)))
			}
			tab(r.Mechanisms, command.Grouped(uint64(r.Affected)), command.Without(len(r.Unroutable)+r.Isolated, r.Isolated), strings.Join(by, ", "))
		}
	})
	if err != nil {
		return err
	}
	printPairs(w, "joined by no live links", list[0].Parted, list[0].Isolated)
	for _, r := range list {
		printPairs(w, "without a way by "+r.Mechanisms, r.Unroutable[:min(len(r.Unroutable), maxParted)], len(r.Unroutable))
		if r.Ways == nil {
			continue
		}
		fmt.Fprintf(w, "\nby %s:\n", r.Mechanisms)
		if len(r.Ways) == 0 {
			if len(pair) > 0 {
				fmt.Fprintf(w, "%s to %s has no way\n", pair[0], pair[1])
			} else {
				fmt.Fprintln(w, "no pair is affected that has a way")
			}
			continue
		}
		if err := command.Tabbed(w, func(tab func(...any)) {
			tab("pair", "hops", "uses", "way")
			for _, way := range r.Ways {
				tab(way.Src+" to "+way.Dst, way.Hops, way.Uses, way.text())
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func printPairs(w io.Writer, what string, list [][2]string, n int) {
	if n == 0 {
		return
	}
	var text []string
	for _, p := range list {
		text = append(text, p[0]+" to "+p[1])
	}
	more := ""
	if n > len(list) {
		more = fmt.Sprintf(", and %s more", command.Grouped(uint64(n-len(list))))
	}
	fmt.Fprintf(w, "\n%s: %s%s\n", what, strings.Join(text, ", "), more)
}

// text is the way as its sub-paths.
func (r *tolerateWay) text() string {
	if len(r.Subs) == 0 {
		return "any shortest path"
	}
	var text []string
	for _, s := range r.Subs {
		t := ""
		if len(s.Misroutes) > 0 {
			t = strings.Join(s.Misroutes, " ") + ", "
		}
		how := "adaptively"
		if s.Deterministic {
			how = "deterministically"
			if len(s.OtherWay) > 0 {
				how += " the other way in " + strings.Join(s.OtherWay, " and ")
			}
		}
		text = append(text, t+how+" to "+s.To)
	}
	return strings.Join(text, "; ")
}
