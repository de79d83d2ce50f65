package capture

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// refreshEvery bounds how often the states of the links are asked for: an answer lists all of them.
// Chosen by us.
const refreshEvery = 50 * time.Millisecond

// states keeps the states of the wires as the fabric has them.
func (s *session) states(ctx context.Context) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-s.stale:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.refresh(ctx); err != nil {
			return err
		}
		pause.Reset(refreshEvery)
	}
}

// refresh asks for the states of all links.
func (s *session) refresh(ctx context.Context) error {
	links, err := s.client.Links(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.wires {
		w := &s.wires[i]
		if int(w.Link) >= len(links) {
			return fmt.Errorf("capture: the fabric tells of %d links, and link %d is captured: it is another fabric now",
				len(links), w.Link)
		}
		l := links[w.Link]
		cut, suffers := l.CutAB, l.SuffersAB
		if w.BtoA {
			cut, suffers = l.CutBA, l.SuffersBA
		}
		fault := suffers
		switch {
		case cut == fabric.CutSignalled:
			w.state, fault = StateCut, "cut"
		case cut == fabric.CutSilent:
			w.state, fault = StateSilent, "cut silently"
		case suffers != "":
			w.state = StateImpaired
		case l.State == fabric.LinkDown:
			w.state, fault = StateDown, strings.Join(l.Dead, " and ")+" down"
		case l.State == fabric.LinkComing:
			w.state = StateComing
		default:
			w.state = StateUp
		}
		if fault == "" {
			w.id = 0
		} else if w.id > 0 {
			fault += fmt.Sprintf(", fault %d", w.id)
		}
		w.fault, w.was = fault, cmp.Or(fault, w.was)
	}
	return nil
}

// learn sets what an event says of states before the fabric has been asked. The caller holds mu.
func (s *session) learn(e fabric.Event) {
	i, ok := s.wireOf(e.Link)
	if !ok || e.Fault == nil || e.Kind != string(fault.VerbCut) && e.Kind != string(fault.VerbImpair) {
		return
	}
	state, what := StateCut, fmt.Sprintf("cut, fault %d", e.Fault.ID)
	switch {
	case e.Kind == string(fault.VerbImpair):
		state, what = StateImpaired, fmt.Sprintf("impaired, fault %d", e.Fault.ID)
	case e.Fault.Silent:
		state, what = StateSilent, fmt.Sprintf("cut silently, fault %d", e.Fault.ID)
	}
	for d, suffers := range []bool{e.Fault.Direction.AtoB(), e.Fault.Direction.BtoA()} {
		if suffers {
			w := &s.wires[i+d]
			w.state, w.fault, w.was, w.id = state, what, what, e.Fault.ID
		}
	}
}

// wireOf is the wire from A to B of a link that is captured; the other direction is the next.
func (s *session) wireOf(link string) (int, bool) {
	if link == "" {
		return 0, false
	}
	l, err := s.graph.LinkByName(link)
	if err != nil {
		return 0, false
	}
	i, ok := s.byID[l.ID]
	return i, ok
}

// place says on which wire an event is marked, and as what. The caller holds mu.
func (s *session) place(e fabric.Event) (i int, text string, ok bool) {
	link, node := e.Link, e.Switch
	if e.Fault != nil {
		if _, err := s.graph.SwitchByName(e.Fault.Target); err == nil {
			node = cmp.Or(node, e.Fault.Target)
		} else {
			link = cmp.Or(link, e.Fault.Target)
		}
	}
	text = e.Summary()
	if text == "" {
		text = fmt.Sprintf("%s %s seen by %s", strings.ReplaceAll(e.Kind, "_", " "), e.Link, e.Node)
		if e.Detail != "" {
			text += ", by " + e.Detail
		}
	}
	switch {
	case link != "":
		if i, ok = s.wireOf(link); ok && e.Node != "" && s.graph.Name(s.wires[i].From.Node) == e.Node {
			i++ // it is about what comes to the node
		}
	case node != "":
		if n, err := s.graph.NodeByName(node); err == nil {
			i, ok = s.first[n]
		}
	default:
		ok = true // of the whole fabric: anywhere
	}
	return i, text, ok
}
