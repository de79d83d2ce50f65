package switchd

import "github.com/weft-fabric/weft"

// Whoever can send on a link can break its protocol as often as it likes. Faults of one kind at one
// port are told at once, and then ever more rarely while they go on, with how many there were; the
// counters of Stats and of link ends count each.

// Times between two events about faults of one kind at one port. Chosen by us, since people read
// them.
const (
	faultEvery    = weft.Second
	faultEveryMax = 60 * weft.Second
)

// faultSource is what faults are told apart by.
type faultSource struct {
	port    weft.PortID
	damaged bool
}

// untold are the faults of one source since it was told last.
type untold struct {
	count uint64
	last  error
	every weft.Time // the time until it is told again
	next  weft.Time // when that is over
}

// limitFaults removes the faults from out that are not to be told now. The caller holds the lock.
func (d *Driver) limitFaults(now weft.Time, out *weft.Actions) {
	told := out.Faults[:0]
	for _, f := range out.Faults {
		from := faultSource{f.Port, f.Damaged}
		u := d.untold[from]
		if u == nil {
			if d.untold == nil {
				d.untold = map[faultSource]*untold{}
			}
			u = &untold{every: faultEvery}
			d.untold[from] = u
		}
		u.count, u.last = u.count+max(1, f.Count), f.Err
		if now < u.next {
			d.wakeToTell(u.next)
			continue
		}
		if now >= u.next+u.every {
			u.every = faultEvery // it had stopped
		}
		told = append(told, u.tell(now, from))
	}
	out.Faults = told
}

// tell takes what there is to tell.
func (u *untold) tell(now weft.Time, from faultSource) weft.Fault {
	f := weft.Fault{Port: from.port, Err: u.last, Count: u.count, Damaged: from.damaged}
	u.count, u.last = 0, nil
	u.next, u.every = now+u.every, min(2*u.every, faultEveryMax)
	return f
}

// tellFaults tells what is due. The caller holds the lock.
func (d *Driver) tellFaults(now weft.Time) {
	d.tellAt = weft.Never
	var out weft.Actions
	out.Reset()
	for from, u := range d.untold {
		switch {
		case u.count == 0:
		case u.next <= now:
			out.Faults = append(out.Faults, u.tell(now, from))
		default:
			d.wakeToTell(u.next)
		}
	}
	if d.cfg.Watch != nil && len(out.Faults) > 0 {
		d.cfg.Watch.Observe(now, &out)
	}
}

// wakeToTell has the ticker call tellFaults at a time.
func (d *Driver) wakeToTell(at weft.Time) {
	if at < d.tellAt {
		d.tellAt = at
		d.await()
	}
}
