package fabric

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/wire"
)

// traffic is what NICs inject: it replaces that, and has NICs inject nothing for a while. Any
// goroutine outside the loop may call it.
type traffic struct{ *decisions }

// HoldNICs stops all NICs from injecting until ResumeNICs. Their sources go on generating into the
// send queues, as an application would. With [Fabric.Drained] it replaces routes by others that
// could deadlock with those in force.
func (ts *traffic) HoldNICs() { ts.hold(leader.Hold{For: weft.Never}) }

// HoldNICsFor is HoldNICs for a caller that may die meanwhile: d after the latest call the NICs
// inject again, and the event says why.
func (ts *traffic) HoldNICsFor(d time.Duration) { ts.hold(leader.Hold{For: weft.FromDuration(d)}) }

// HoldLonger begins the time of HoldNICsFor anew, if NICs are held.
func (ts *traffic) HoldLonger(d time.Duration) {
	ts.hold(leader.Hold{For: weft.FromDuration(d), Longer: true})
}

// ResumeNICs has all NICs inject again.
func (ts *traffic) ResumeNICs() { ts.hold(leader.Hold{}) }

func (ts *traffic) hold(ev leader.Hold) {
	var a *action
	ts.inLoop(func(l loop) { a = l.decide(ev) })
	_ = a.dispatched.wait() // a host that does not answer is told when it does
}

// SetTraffic replaces what all NICs generate; zero traffic stops them.
func (ts *traffic) SetTraffic(t nic.Traffic) error {
	_, err := ts.setTraffic(t)
	return err
}

// ReplaceTraffic is [Fabric.SetTraffic], and returns when another leader would know of it; where
// that takes too long, the note says so.
func (ts *traffic) ReplaceTraffic(ctx context.Context, t nic.Traffic) (note string, err error) {
	a, err := ts.setTraffic(t)
	if err == nil && !awaitCheckpoint(ctx, a.checkpointed) {
		note = notCheckpointed
	}
	return note, err
}

func (ts *traffic) setTraffic(t nic.Traffic) (a *action, err error) {
	next := leader.Traffic{What: t}
	if t.Trace != nil && (len(ts.remote) > 0 || ts.checkpoints.write != nil) {
		var file bytes.Buffer
		if err = t.Trace.Write(&file); err == nil {
			next.Trace, err = wire.Compress(file.Bytes())
		}
		if err != nil {
			return nil, fmt.Errorf("traffic: %w", err)
		}
	}
	ts.inLoop(func(l loop) {
		next.Draws, _ = ts.chance.MarshalBinary() // of a PCG it never fails
		if next.Sources, err = t.Sources(ts.opts.over(ts.pattern)); err == nil {
			a = l.decide(leader.SetTraffic{Traffic: next})
		}
	})
	if err != nil {
		return nil, err
	}
	return a, a.dispatched.wait()
}

// StopTraffic stops what the NICs generate. What is queued goes on.
func (ts *traffic) StopTraffic() error { return ts.SetTraffic(nic.Traffic{}) }
