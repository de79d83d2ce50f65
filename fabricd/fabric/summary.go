package fabric

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/fault"
)

// Summary describes the event in a line or two. It is empty for a detail of another event.
func (e Event) Summary() string {
	switch e.Kind {
	case string(fault.VerbCut), string(fault.VerbFlap), string(fault.VerbImpair), string(fault.VerbCrash), KindHandover,
		KindSilence:
		s := e.Fault.Summary()
		if e.Kind == string(fault.VerbImpair) { // nobody sees it, and it has cost nothing yet
			s = fmt.Sprintf("%s, at %.3f s", e.Fault.What, e.Fault.At)
		}
		if e.Detail != "" {
			s += "\n  " + e.Detail
		}
		return s
	case EventReport:
		return fmt.Sprintf("fault %d is over: %s", e.Fault.ID, e.Fault.Summary())
	case EventBrokerLost, EventBrokerBack, EventBrokerError, EventUnauthorized, EventTooLarge, EventSlowConsumer,
		EventUnknownSubject, EventInboxFull:
		return strings.ReplaceAll(e.Kind, "_", " ") + ": " + e.Detail
	case EventReconfigured:
		return e.Detail
	case EventRestore:
		return "restored " + e.Link
	case EventRestart:
		return "restarted " + e.Switch
	case EventProtocolFault:
		return fmt.Sprintf("protocol fault at %s, link %s: %s%s", e.Node, e.Link, e.Detail, e.times())
	case EventDamaged:
		return fmt.Sprintf("damaged frame at %s, link %s: its packets are lost on the wire%s", e.Node, e.Link, e.times())
	case EventProcessJoined:
		return fmt.Sprintf("switch %s is %s now", e.Switch, e.Detail)
	case EventProcessLeft:
		return fmt.Sprintf("switch %s is the fabric's own again, %s has left", e.Switch, e.Detail)
	case EventProcessFailed:
		return fmt.Sprintf("switch %s is down, %s is gone", e.Switch, e.Detail)
	case EventProcessSuspect:
		return fmt.Sprintf("switch %s does not answer, %s", e.Switch, e.Detail)
	case EventProcessBack:
		return fmt.Sprintf("switch %s answers again, %s", e.Switch, e.Detail)
	case EventMoved:
		return fmt.Sprintf("switch %s %s", e.Switch, e.Detail)
	case EventFirmware, EventFailed:
		return fmt.Sprintf("switch %s: %s", e.Switch, e.Detail)
	case EventTables:
		return fmt.Sprintf("switch %s forwards by new tables, %s", e.Switch, e.Detail)
	case EventHeld:
		return "NICs inject nothing until the fabric is drained and has new tables"
	case EventResumed:
		return "NICs inject again"
	case EventDeadlock:
		return "deadlock: packets wait for each other for ever: " + e.Detail + ";\n" +
			"take a routing that cannot, as --routing lash: fabricd routes check tells which"
	case EventDeadlockOver:
		return "the deadlock is over"
	case EventWaiting:
		return e.Detail
	case EventWaitingOver:
		return "no packet waits for a second in a switch any more"
	case EventTimeFactor:
		return "time factor " + e.Detail
	case EventTraffic:
		return "traffic " + e.Detail
	}
	return ""
}

// times says how many events e stands for.
func (e Event) times() string {
	if e.Count < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d of them, here or elsewhere, since the last that was told)", e.Count)
}
