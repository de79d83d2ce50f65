package fabric

import (
	"math/rand/v2"

	"github.com/weft-fabric/weft"
)

// decisions are made one after the other, in the loop: it owns what only the loop touches, and the
// queues by which what was decided reaches the transport. It is for the roles that decide; their
// callers are outside the loop.
type decisions struct {
	*site
	inbox     queue // of the loop
	transport queue // what it is told, in the sequence of the decisions, which do not wait for it

	checkpoints checkpoints

	// What only the loop touches.
	timers  map[int]func() // per fault, stops what would change it by itself; 0: of the hold of NICs
	pattern *rand.Rand     // draws what a traffic pattern leaves to chance
	chance  *rand.PCG      // what it draws from
	// unrepaired are the faults that have ended by themselves and whose links are not back yet. One
	// task attends to all: in virtual time, with its single goroutine, none may wait for another.
	unrepaired   []*action
	puttingAway  bool   // of incarnations that the ledger has put away, see putAway
	incarnations uint64 // of switch processes and of hosts, since the start
}

func newDecisions(si *site) *decisions {
	d := &decisions{
		site: si, checkpoints: checkpoints{write: si.opts.Checkpoint}, timers: map[int]func(){},
		chance: weft.Stream(si.opts.Seed, weft.StreamTraffic, 0, 0),
	}
	d.pattern = rand.New(d.chance)
	return d
}

// loop is the receiver of all that may run only in the leader's loop, where decisions are made one
// after the other, and a parameter of what others may do only there.
type loop struct{ *decisions }

// inLoop runs do between decisions and returns when do has returned. Callers are outside the loop.
// In do, wait for no host, no transport, and no lock but leaf locks.
func (d *decisions) inLoop(do func(l loop)) {
	done := make(chan struct{})
	d.enqueue(&d.inbox, func() {
		defer close(done)
		do(loop{d})
	})
	<-done
}
