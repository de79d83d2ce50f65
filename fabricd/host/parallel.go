package host

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// inParallel calls do for 0 to n-1 on all processors, in any order, and returns when all calls have
// returned. Progress, unless nil, hears how many have: 0 at first, and more now and then. After an
// error no further call begins; the error is the one of the lowest number.
func inParallel(n int, progress func(done int), do func(i int) error) error {
	var next, done atomic.Int64
	var mu sync.Mutex // guards what follows, and calls of progress
	failed, reported := n, 0
	var first error
	if progress != nil {
		progress(0)
	}
	one := func(i int) {
		err := do(i)
		finished := int(done.Add(1))
		if err == nil && (progress == nil || finished%tellNodes != 0) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil && i < failed {
			failed, first = i, err
			next.Store(int64(n))
		}
		if progress != nil && finished > reported {
			reported = finished
			progress(finished)
		}
	}
	var running sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				one(i)
			}
		})
	}
	running.Wait()
	return first
}

// tellNodes is after how many nodes progress hears of them. Chosen by us: every few milliseconds.
const tellNodes = 64

// MakeAll makes the cores of these switches and NICs in parallel. Each is the same as if it was
// made alone. Several goroutines call Program. Progress, unless nil, hears how many cores there
// are. Errors are those of [switching.New] and [nic.New].
func (c *NodeFactory) MakeAll(switches []weft.SwitchID, nics []weft.NICID,
	progress func(done int),
) ([]*switching.Switch, []*nic.NIC, error) {
	s, n := make([]*switching.Switch, len(switches)), make([]*nic.NIC, len(nics))
	err := inParallel(len(s)+len(n), progress, func(i int) (err error) {
		if i < len(s) {
			s[i], err = c.MakeSwitch(switches[i])
		} else {
			n[i-len(s)], err = c.MakeNIC(nics[i-len(s)])
		}
		return err
	})
	return s, n, err
}
