package command

import (
	"fmt"
	"io"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// PrintLedger prints where every packet is.
func PrintLedger(w io.Writer, l fabric.Ledger) {
	verdict := "balanced"
	switch {
	case l.NotChecked != "":
		verdict = "not checked"
	case !l.Balanced:
		verdict = "DOES NOT BALANCE"
	}
	fmt.Fprintf(w, "ledger: %d injected = %d delivered + %d lost + %d discarded + %d in flight: %s\n",
		l.Injected, l.Delivered, l.Lost, l.Discarded, l.InFlight, verdict)
	if l.Lost > 0 {
		fmt.Fprintf(w, "lost: %d on wires, %d in queues of dead links, %d in crashed switches\n", l.LostWire, l.LostQueued,
			l.LostCrash)
	}
}
