package harness

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Packet names one packet.
type Packet struct {
	Src, Dst weft.NICID
	Seq      uint64 // its number in its flow, from 0
}

// Send sends one packet from NIC src to NIC dst, given by name, and records its path. It does not
// wait for the packet to arrive. A name that is not in the topology, and a full send queue, fail
// the test.
func (h *Harness) Send(src, dst string) Packet {
	h.t.Helper()
	p := Packet{Src: h.nicID(src), Dst: h.nicID(dst)}
	var err error
	if p.Seq, err = h.fabric.Send(p.Src, p.Dst, true); err != nil {
		h.fail("send %s to %s: %v", src, dst, err)
	}
	h.record.sent(p)
	return p
}

// Path is the path of a traced packet so far.
func (h *Harness) Path(p Packet) Path { return h.record.path(p) }

// Paths are the paths of traced packets so far, the latest 16,384 of them, in the order in which
// they were first heard of.
func (h *Harness) Paths() []Path { return h.record.all() }

// Eventually waits until f returns nil, asking again and again, and fails the test with its last
// error when its patience ends. It asks every millisecond, and of what takes long at every
// hundredth of that.
func (h *Harness) Eventually(f func() error) {
	h.t.Helper()
	w := h.wait(time.Millisecond)
	defer w.cancel()
	for {
		err := f()
		if err == nil {
			return
		}
		if ended := w.pause(nil); ended != nil {
			h.fail("not yet %s: %v", h.gaveUp(ended), err)
			return
		}
	}
}

// wait is a wait with the patience of a harness.
type wait struct {
	fabric *fabric.Fabric
	ctx    context.Context
	cancel context.CancelFunc
	began  weft.Time
	least  time.Duration
}

func (h *Harness) wait(least time.Duration) wait {
	ctx, cancel := h.fabric.WithTimeout(context.Background(), h.cfg.patience)
	return wait{h.fabric, ctx, cancel, h.fabric.Now(), least}
}

// pause waits until it is worth while to look again, or for news: a hundredth of the wait so far,
// for in virtual time an hour is soon over, and would be spent on looking.
func (w wait) pause(news <-chan struct{}) error {
	waited := (w.fabric.Now() - w.began).Duration()
	return w.fabric.Pause(w.ctx, max(w.least, waited/100), news)
}

// gaveUp says why a wait ended.
func (h *Harness) gaveUp(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("after %v", h.cfg.patience)
	}
	return err.Error()
}

// RequireDelivered waits until the packet arrives and returns its path. It fails as soon as the
// packet is known to be lost or discarded.
func (h *Harness) RequireDelivered(p Packet) Path {
	h.t.Helper()
	path := h.ended(p)
	if path.End != weft.Delivered {
		h.fail("packet was not delivered\n%v", path)
	}
	return path
}

// RequireDiscarded waits until the packet is discarded, by the named rule unless it is empty, and
// returns its path.
func (h *Harness) RequireDiscarded(p Packet, rule string) Path {
	h.t.Helper()
	path := h.ended(p)
	if path.End != weft.Discarded || rule != "" && path.Rule != rule {
		by := ""
		if rule != "" {
			by = fmt.Sprintf(" by rule %q", rule)
		}
		h.fail("packet was not discarded%s\n%v", by, path)
	}
	return path
}

// ended waits until the packet is in one of the accounts. Nobody sees a packet being lost on a
// wire: it is known once nothing is in flight any more.
func (h *Harness) ended(p Packet) Path {
	h.t.Helper()
	w := h.wait(20 * time.Millisecond)
	defer w.cancel()
	for {
		news := h.record.changed(p)
		path := h.record.path(p)
		if path.End != 0 {
			return path
		}
		if err := w.pause(news); err != nil {
			h.fail("packet is still in flight %s\n%v%s", h.gaveUp(err), path, h.waits(path))
			return path
		}
		if l := h.fabric.Ledger(); !l.Balanced || l.InFlight > 0 {
			continue
		}
		return h.record.lost(p)
	}
}

// Quiesce stops the traffic, waits until nothing moves any more and returns the ledger. It loses
// its patience when packets do not become fewer, however long all of them take. Packets that are
// left fail the test; a deadlock is named by its cycle.
func (h *Harness) Quiesce() fabric.Ledger {
	h.t.Helper()
	l, err := h.quiesce()
	if err != nil {
		h.fail("quiesce: %v", err)
	}
	return l
}

// QuiesceStuck is Quiesce for a test that expects packets to be left; it fails when none are.
func (h *Harness) QuiesceStuck() *fabric.StuckError {
	h.t.Helper()
	_, err := h.quiesce()
	stuck, ok := errors.AsType[*fabric.StuckError](err)
	if !ok {
		h.fail("quiesce: expected packets to be stuck, got %v", err)
	}
	return stuck
}

func (h *Harness) quiesce() (fabric.Ledger, error) {
	h.t.Helper()
	h.SetTraffic("none")
	for left := h.fabric.Ledger().InFlight; ; {
		l, err := h.quiesceFor(h.cfg.patience)
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || l.InFlight >= left {
			return l, err
		}
		left = l.InFlight // a machine with much else to do takes its time to carry what has gathered
	}
}

func (h *Harness) quiesceFor(d time.Duration) (fabric.Ledger, error) {
	ctx, cancel := h.fabric.WithTimeout(context.Background(), d)
	defer cancel()
	return h.fabric.Quiesce(ctx)
}

// Check is a condition on the ledger; its error says what does not hold.
type Check func(fabric.Ledger) error

// RequireLedger quiesces the fabric and requires that the ledger balances, that nothing is left in
// flight, that all credits are home and that all checks hold.
func (h *Harness) RequireLedger(checks ...Check) fabric.Ledger {
	h.t.Helper()
	l := h.Quiesce()
	if !l.Balanced || l.InFlight != 0 {
		h.fail("the ledger does not balance: %+v", l)
	}
	for _, c := range checks {
		if err := c(l); err != nil {
			h.fail("%v\n%s", err, h.record.lastDrop())
		}
	}
	if err := h.fabric.CreditsHome(); err != nil {
		h.fail("%v", err)
	}
	return l
}

// NoneDiscarded is the check that no switch discarded a packet.
func NoneDiscarded(l fabric.Ledger) error {
	if l.Discarded > 0 {
		return fmt.Errorf("the fabric discarded %s: %s", english.Plural(int(l.Discarded), "packet", ""),
			fault.ByRule(l.DiscardedBy))
	}
	return nil
}

// LostAtMost is the check that links and crashes lost no more than n packets.
func LostAtMost(n uint64) Check {
	return func(l fabric.Ledger) error {
		if l.Lost > n {
			return fmt.Errorf("the fabric lost %s, expected at most %d: %v", english.Plural(int(l.Lost), "packet", ""),
				n, l.LostOn)
		}
		return nil
	}
}

// fail fails the test with the panics of the firmware and the way to run it again.
func (h *Harness) fail(format string, args ...any) {
	h.t.Helper()
	h.told = true
	h.t.Fatalf("%s%s\n%s", h.record.takePanics(), fmt.Sprintf(format, args...), h.replay())
}

// replay is the command that runs the test again with the same draws.
func (h *Harness) replay() string {
	parts := strings.Split(h.name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return fmt.Sprintf("run it again: go test -run '%s' -count=1 -weft.seed=%d", strings.Join(parts, "/"), h.cfg.opts.Seed)
}

// Pause lets so much time pass on the fabric's clock. Use it in virtual time, where nothing else
// passes any; live, wait for what is to happen with Eventually.
func (h *Harness) Pause(d time.Duration) {
	h.t.Helper()
	if err := h.fabric.Pause(context.Background(), d, nil); err != nil {
		h.fail("pause %v: %v", d, err)
	}
}
