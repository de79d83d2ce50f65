package fabric

import "fmt"

// Story tells the report in one line.
func (r Fault) Story() string {
	who := "both ends"
	if r.Kind == FaultCrash {
		who = "its neighbours"
	}
	s := fmt.Sprintf("%s %s at %.3f s, %s acted within %.2f ms; lost %d on the wire, %d queued", r.Kind, r.Target, r.At, who, r.SeenAfter, r.LostWire, r.LostQueued)
	if r.Kind == FaultCrash {
		s += fmt.Sprintf(", %d inside", r.LostCrash)
	}
	if r.RestoredAt > 0 {
		s += fmt.Sprintf("; restored at %.3f s, rerouted meanwhile %d", r.RestoredAt, r.Rerouted)
	}
	return s
}

// Story tells the event in one line, or nothing when it is a detail of another.
func (e Event) Story() string {
	switch e.Kind {
	case EventCut, EventCrash:
		return e.Fault.Story()
	case EventRestore:
		return "restored " + e.Link
	case EventRestart:
		return "restarted " + e.Switch
	case EventProtocolFault:
		return fmt.Sprintf("protocol fault at %s: %s", e.Node, e.Detail)
	case EventTraffic:
		return "traffic " + e.Detail
	}
	return ""
}
