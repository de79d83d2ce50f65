package dqr

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// goAround enables turns around what has died, in each layer in which paths led over it: those of
// the plug-in, or else those of a local path. They are enabled until Settle, even if no path uses
// them.
func (r *Reconfiguration) goAround(res *Result) {
	x, w := &r.scratch, r.w
	clear(x.around)
	for l := range r.layers {
		for i := 0; i < len(x.died); i += 2 { // both directions of a link follow each other, where both have died
			c := x.died[i]
			both := i+1 < len(x.died) && x.died[i+1] == w.back[c]
			if !both {
				i--
			}
			if !x.used[l][max(i, 0)] && !(both && x.used[l][i+1]) {
				continue
			}
			link := &w.g.Links[w.Link[c]]
			if r.o.Plugin != nil {
				e := enabler{r, l, 0}
				if r.o.Plugin.Enable(link, &e) {
					res.PluginTurns += e.enabled
					if r.o.Path != LocalCompulsory {
						continue
					}
				}
			}
			if r.o.Path == EndToEnd {
				continue
			}
			r.local(res, l, c)
			if both {
				r.local(res, l, w.back[c])
			}
		}
	}
}

// local enables the turns of a local path around a channel (section IV.A, option 1), if there is
// one: of the cheapest by each channel, the one that leaves most other turns possible. That is a
// choice of ours. In a mesh it is the side of the centre, without knowing of a mesh; of 100 runs of
// five faults in a 10x10 mesh it kept 73 alive where the first of the cheapest kept 67, when old
// dependencies on dead channels still counted.
func (r *Reconfiguration) local(res *Result, l int, c int32) {
	x := &r.scratch
	var best []int32
	least := 0
	for _, way := range r.localWays(res, l, c) {
		if harm, ok := r.harm(l, way); ok && (best == nil || harm < least) {
			best, least = way, harm
		}
	}
	if best == nil {
		return
	}
	moved, ok := r.enable(l, best, none)
	if !ok {
		return
	}
	res.LocalTurns += moved
	for _, t := range x.turns {
		r.pending = append(r.pending, drop{int32(l), t})
	}
	if r.o.Path == LocalCompulsory {
		if x.around == nil {
			x.around = make(map[way][]int32)
		}
		x.around[way{int32(l), c}] = best
	}
}

// compulsory gives sources their old path with the local paths in place of what is dead.
func (r *Reconfiguration) compulsory(res *Result, l, k int, sources []int32) []int32 {
	left := sources[:0]
	for _, s := range sources {
		path, join, ok := r.spliced(l, k, s)
		r.find.request++
		moved := 0
		if ok {
			moved, ok = r.enable(l, path, join)
		}
		if !ok {
			left = append(left, s)
			continue
		}
		res.NewTurns += moved
		r.put(l, k, s, path, join)
	}
	return left
}

// spliced is that path from s to target k, up to where it joins one in force. It reports false when
// there is no local path, or it would come to an entry twice.
func (r *Reconfiguration) spliced(l, k int, s int32) (path []int32, join int32, ok bool) {
	x, w, y := &r.scratch, r.w, r.layers[l]
	x.nextWalk()
	live, first := row(y.live, k, len(w.To)), row(y.first, k, w.n)
	path = x.path[:0]
	defer func() { x.path = path }()
	own := make([]int32, 1)
	for c := first[s]; c >= 0; c = r.step(y, k, c) {
		part := own
		if own[0] = c; r.dead[c] {
			part = x.around[way{int32(l), c}]
		}
		if len(part) == 0 {
			return path, none, false
		}
		for _, p := range part {
			join, node := p, p // what has an entry of its own: a channel, or
			if r.o.Entries == ByDestination {
				node = w.From[p]
				join = first[node]
			}
			switch {
			case join >= 0 && live[join]:
				return path, join, true
			case r.dead[p] || x.leads[node] == x.walk:
				return path, none, false
			}
			x.leads[node] = x.walk
			if path = append(path, p); w.To[p] == r.targets[k].home {
				return path, none, true
			}
		}
	}
	return path, none, false
}

// enabler is a channel list, for plug-ins.
type enabler struct {
	r       *Reconfiguration
	layer   int
	enabled int
}

func (e *enabler) Graph() *topology.Graph { return e.r.w.g }

func (e *enabler) Alive(link weft.LinkID) bool {
	g := e.r.w.g
	if int(link) >= len(g.Links) || !g.Links[link].BetweenSwitches() {
		return false
	}
	a := g.Links[link].A
	return !e.r.dead[e.r.w.channel(weft.SwitchID(a.Node.Index), a.Port)]
}

func (e *enabler) Together(turns []Turn) bool {
	w, list := e.r.w, e.r.layers[e.layer].list
	enabled := 0
	var done []int32
	for _, t := range turns {
		in, out := none, none
		if int(t.At) < w.n {
			in, out = w.channel(t.At, t.In), w.channel(t.At, t.Out)
		}
		ok := in != none && out != none
		if ok {
			in = w.back[in]
			n := w.turn(in, out)
			if !list.Has(n) && list.Label(in) > list.Label(out) {
				enabled++
			}
			if ok = list.Try(n); ok {
				done = append(done, n)
			}
		}
		if !ok {
			list.BackPath(done)
			list.Keep()
			e.r.find.version++
			return false
		}
	}
	list.Keep()
	e.r.find.version++
	e.enabled += enabled
	for _, n := range done {
		e.r.pending = append(e.r.pending, drop{int32(e.layer), n})
	}
	return true
}
