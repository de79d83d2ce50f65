package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// guesses are the ways in which the firmware was asked in states that look alike, by what they look
// like. A switch has many ports and most are much alike: what was asked at one state is asked at
// the next one, call by call, and only where an answer differs the state is explored anew. So a
// guess is checked before it is believed, and costs one call for each outcome.
type guesses struct {
	of    map[likeness]*guess
	now   *guess           // is being written; nil: none
	asked int              // questions in all
	lists map[string]int32 // different lists of leaves, numbered
	text  []byte
}

// maxGuessed bounds the questions that are kept, chosen by us: some hundred megabytes at most.
const maxGuessed = 1 << 18

// likeness is what a state looks like to a firmware for trees.
type likeness struct {
	tier     weft.Tier
	ports    int
	below    bool        // the destination is below
	down, up weft.PortID // towards it
	in       weft.PortID
	vc       weft.VC
	fields   int32
}

// guess is how the firmware was asked and what came of it.
type guess struct {
	can, links, mortal switching.PortSet
	questions          []called
	leaves             []leaf
	list               int32 // the number of these leaves
	choices            bool  // a decision has left one
}

// called is one call, and all that [asker.fork] looks at of what came back.
type called struct {
	dead, up, open switching.PortSet
	strict, bad    bool
	rule           string
	candidates     []switching.Candidate
	asked, offered []weft.PortID
}

// likeness is what a state looks like. ok is false where it cannot be told.
func (a *asker) likeness(f int, st *state) (l likeness, ok bool) {
	v := &a.views[st.sw]
	t := v.At.Tree
	if t == nil || a.faults.oneByOne || a.faults.parallel && a.faults.kind != Links {
		return l, false
	}
	dst := a.m.flows[f].dst
	l = likeness{
		tier: t.Tier, ports: v.At.Ports(), below: t.HasDown(dst), down: t.DownPort(dst),
		in: st.in, vc: st.vc, fields: st.fields,
	}
	if t.Tier > 0 {
		l.up = t.DefaultUp(dst)
	}
	return l, true
}

// tree sets a.leaves to those of a state, and a.looked to how it was asked; nil: that was not
// noted.
func (a *asker) tree(f int, st *state) error {
	like, ok := a.likeness(f, st)
	if s := a.guesses.of[like]; ok && a.replay(f, st, s) {
		a.looked, a.choices = s, a.choices || s.choices
		return nil
	}
	a.leaves = a.leaves[:0]
	v := &a.views[st.sw]
	if a.guesses.now = nil; ok {
		a.guesses.now = &guess{can: v.can, links: v.links, mortal: a.faults.mortal[st.sw]}
	}
	a.looked = a.guesses.now
	before := a.choices
	a.choices = false
	err := a.fork(f, st, switching.PortSet{}, switching.PortSet{}, false)
	chosen := a.choices
	if a.choices = before || chosen; err != nil || !ok {
		return err
	}
	s := &a.guesses
	s.now.choices = chosen
	for i := range s.now.questions {
		q := &s.now.questions[i]
		v.Dead = q.dead
		q.bad = a.bad(f, st, q.candidates)
	}
	s.now.leaves = slices.Clone(a.leaves)
	s.number(s.now)
	if s.asked += len(s.now.questions); s.of == nil || s.asked > maxGuessed {
		s.of, s.asked = map[likeness]*guess{}, len(s.now.questions)
	}
	s.of[like] = s.now
	return nil
}

// number gives the leaves of a guess their number.
func (s *guesses) number(g *guess) {
	s.text = s.text[:0]
	for i := range g.leaves {
		l := &g.leaves[i]
		s.text = fmt.Appendf(s.text, "%d %d %t %d %x %x;", l.port, l.vc, l.two, l.fields, l.dead, l.up)
	}
	id, ok := s.lists[string(s.text)]
	if !ok {
		if s.lists == nil {
			s.lists = map[string]int32{}
		}
		id = int32(len(s.lists))
		s.lists[string(s.text)] = id
	}
	g.list = id
}

// note writes a question down.
func (s *guesses) note(v *unknownView, dead, up switching.PortSet, strict bool, d *switching.Decision) {
	if s.now != nil {
		s.now.questions = append(s.now.questions, called{
			dead: dead, up: up, open: v.open, strict: strict, rule: d.Rule, candidates: slices.Clone(d.Candidates),
			asked: slices.Clone(v.asked), offered: slices.Clone(v.offered),
		})
	}
}

// replay asks a state what a guess has asked, with other sources and packets, and sets a.leaves to
// those of the guess if all answers are the same. What would be asked next follows from the
// answers, so that nothing is missed.
func (a *asker) replay(f int, st *state, s *guess) bool {
	if s == nil || len(a.m.flows[f].srcs) == 0 {
		return false
	}
	v := &a.views[st.sw]
	if v.can != s.can || v.links != s.links || a.faults.mortal[st.sw] != s.mortal {
		return false
	}
	for i := range s.questions {
		q := &s.questions[i]
		a.turn++
		d := a.route(f, st, q.dead, q.up, q.strict, a.turn)
		if !q.same(v, &d) || a.bad(f, st, d.Candidates) != q.bad {
			return false
		}
	}
	a.leaves = append(a.leaves[:0], s.leaves...)
	return true
}

// same reports whether a view was asked the same, and answered the same.
func (q *called) same(v *unknownView, d *switching.Decision) bool {
	return d.Rule == q.rule && v.open == q.open && slices.Equal(d.Candidates, q.candidates) &&
		slices.Equal(v.asked, q.asked) && slices.Equal(v.offered, q.offered)
}
