package scenario

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// judgeReports judges what each fault cost.
func (s *Scenario) judgeReports(reports []fault.Report, heard *silences, fail func(name, format string, args ...any)) {
	g := s.Options.Topology
	for i, r := range reports {
		if s.detectedWithin > 0 && r.Kind == string(fault.VerbCut) && r.Silent && lasts(r, s.detectedWithin) &&
			alone(g, reports, i) {
			if ends := endsWithin(r, s.detectedWithin); ends < 2 {
				fail("detected_within", "detected_within %v: %s at %.3f s: %d of 2 ends found out within it, %v", s.detectedWithin,
					r.What, r.At, ends, r.Detected)
			}
		}
		if s.madeGoodWithin > 0 && r.Degradation.Found {
			if after := r.Degradation.MadeGoodAfter; after == nil || *after > s.madeGoodWithin.Seconds() {
				fail("made_good_within", "made_good_within %v: %s at %.3f s: %s", s.madeGoodWithin, r.What, r.At,
					r.Degradation)
			}
		}
	}
	if !s.Expect.NoFalseDetection {
		return
	}
	if heard.missed > 0 {
		fail("no_false_detection", "no_false_detection: %d events came too fast to be heard", heard.missed)
	}
	for _, e := range heard.list {
		if !explained(g, reports, e) {
			fail("no_false_detection",
				"no_false_detection: at %.3f s %s took its neighbour on %s for silent, and no fault was in force there", e.At,
				e.Node, e.Link)
		}
	}
}

// lasts reports whether r lasted longer than d; one in force does.
func lasts(r fault.Report, d time.Duration) bool {
	return r.RestoredAt == 0 || r.RestoredAt-r.At > d.Seconds()
}

// endsWithin is how many ends found out within d.
func endsWithin(r fault.Report, d time.Duration) int {
	type end struct {
		node string
		port int
	}
	ends := map[end]bool{}
	for _, f := range r.Detected {
		if f.AfterSeconds <= d.Seconds() {
			ends[end{f.End, f.Port}] = true
		}
	}
	return len(ends)
}

// grace is how long after a repair an end may still take its neighbour for silent, or have it down
// because of damping or an earlier fault: chosen by us, more than any sensible interval x
// multiplier.
const grace = time.Second

// alone reports whether no other fault had to do with the link of reports[i] when it began: whoever
// has lost the link already cannot find out once more.
func alone(g *topology.Graph, reports []fault.Report, i int) bool {
	at := reports[i].At
	for j, r := range reports {
		if j != i && touches(g, r, reports[i].Target) && inForce(r, at, grace) {
			return false
		}
	}
	return true
}

// explained reports whether a fault was in force that makes an end lose its link.
func explained(g *topology.Graph, reports []fault.Report, e fabric.Event) bool {
	return slices.ContainsFunc(reports, func(r fault.Report) bool {
		return r.Kind != fabric.KindSilence && touches(g, r, e.Link) && inForce(r, e.At, grace)
	})
}

func inForce(r fault.Report, at float64, after time.Duration) bool {
	return r.At <= at && (r.RestoredAt == 0 || at <= r.RestoredAt+after.Seconds())
}

// touches reports whether a fault is one of the link, or of a switch that holds it.
func touches(g *topology.Graph, r fault.Report, link string) bool {
	if r.Target == link {
		return true
	}
	id, err := g.SwitchByName(r.Target)
	if err != nil {
		return false
	}
	l, err := g.LinkByName(link)
	return err == nil && (l.A.Node == id.Node() || l.B.Node == id.Node())
}

// silences are the moments when an end took its neighbour for silent, and when firmware failed.
type silences struct {
	list   []fabric.Event
	failed []fabric.Event // the firmware
	missed uint64
	seq    uint64 // of the last event heard
}

// hear takes the events since it was called before.
func (s *silences) hear(hub *fabric.Hub) {
	for _, e := range hub.Since(s.seq) {
		s.missed += e.Seq - s.seq - 1
		s.seq = e.Seq
		if e.Kind == fabric.EventLinkDown && e.Detail == weft.BySilence.String() {
			s.list = append(s.list, e)
		}
		if e.Kind == fabric.EventFailed {
			s.failed = append(s.failed, e)
		}
	}
}
