package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	switching "github.com/weft-fabric/weft/switch"
)

// How changes what a fault does, beside what its call says.
type How func(*fault.Spec)

// OneWay lets a link suffer only from the end named first towards the other.
func OneWay(s *fault.Spec) { s.Direction = fault.To }

// Silently tells nobody of a flap, see [Harness.CutSilently].
func Silently(s *fault.Spec) { s.Silent = true }

// For ends the fault by itself after d.
func For(d time.Duration) How { return func(s *fault.Spec) { s.For = fault.Duration(d) } }

// Apply sets and repairs several faults at one instant, for all that the calls below do not say,
// and returns what came of each. When one cannot be done none is and the test fails; doing what has
// been done already is no failure.
func (h *Harness) Apply(specs ...fault.Spec) []fabric.Outcome {
	h.t.Helper()
	ctx, cancel := h.fabric.WithTimeout(context.Background(), h.cfg.patience)
	defer cancel()
	out, err := h.fabric.Apply(ctx, specs...)
	if err != nil {
		h.fail("%v", err)
	}
	return out
}

// one applies s and returns its report. That nothing was to be done fails the test with why.
func (h *Harness) one(s fault.Spec, how []How, why string) (r fault.Report) {
	h.t.Helper()
	for _, f := range how {
		f(&s)
	}
	out := h.Apply(s)[0]
	if !out.Changed {
		h.fail("%s: it %s", s, why)
	}
	if out.Fault != nil {
		r = *out.Fault
	}
	return r
}

// Cut cuts the link between two nodes, signalled: both ends lose signal. When it returns both have
// acted on it. Of several links between the two, name one with its ports, Cut("s3:4", "s7:2").
// Cutting a link that is cut fails the test.
func (h *Harness) Cut(a, b string, how ...How) fault.Report {
	h.t.Helper()
	return h.one(fault.Spec{Do: fault.VerbCut, A: a, B: b}, how, "is cut already")
}

// CutSilently is Cut without telling the ends: they find out when hellos are missing, see
// [Liveness]. It does not wait for that; AwaitSeen does.
func (h *Harness) CutSilently(a, b string, how ...How) fault.Report {
	h.t.Helper()
	return h.one(fault.Spec{Do: fault.VerbCut, A: a, B: b, Silent: true}, how, "is cut already")
}

// Flap takes a link down and up until it is restored or f ends. When it returns it is down for the
// first time.
func (h *Harness) Flap(a, b string, f fault.Flap, how ...How) fault.Report {
	h.t.Helper()
	return h.one(fault.Spec{Do: fault.VerbFlap, A: a, B: b, Flap: &f}, how, "is cut or flaps already")
}

// Impair lets a link lose, delay or slow what it carries; what i does not name stays as it is. That
// nothing changes fails the test.
func (h *Harness) Impair(a, b string, i fault.Impair, how ...How) fault.Report {
	h.t.Helper()
	return h.one(fault.Spec{Do: fault.VerbImpair, A: a, B: b, Impair: &i}, how, "is not impaired")
}

// Restore ends what is wrong with a link: that it is cut or flaps, or else that it is impaired.
// When it returns both ends have it, unless one of them has crashed. Restoring a link with which
// nothing is wrong fails the test.
func (h *Harness) Restore(a, b string, how ...How) {
	h.t.Helper()
	h.one(fault.Spec{Do: fault.VerbRestore, A: a, B: b}, how, "is not cut, nor impaired")
}

// Crash crashes a switch: all it holds is lost. When it returns its neighbours have acted on it.
func (h *Harness) Crash(name string, how ...How) fault.Report {
	h.t.Helper()
	return h.one(fault.Spec{Do: fault.VerbCrash, A: name}, how, "has crashed already")
}

// Restart starts a crashed switch again, empty. When it returns its links that are not cut are
// back.
func (h *Harness) Restart(name string) {
	h.t.Helper()
	h.one(fault.Spec{Do: fault.VerbRestart, A: name}, nil, "has not crashed")
}

// Load has a switch run another firmware, between two packets. When it returns the switch runs it.
func (h *Harness) Load(name string, fw switching.Firmware) {
	h.t.Helper()
	id, err := h.Topology().SwitchByName(name)
	if err == nil {
		err = h.fabric.LoadFirmware(h.t.Context(), id, fw, fw.Name)
	}
	if err != nil {
		h.fail("%v", err)
	}
}

// Heal ends every fault and returns the names of what was repaired.
func (h *Harness) Heal() []string {
	h.t.Helper()
	return h.Apply(fault.Spec{Do: fault.VerbHeal})[0].Healed
}

// Faults returns the report of every fault so far, in order.
func (h *Harness) Faults() []fault.Report { return h.fabric.Faults() }

// AwaitSeen waits until so many ends have found out about a fault, and returns its report: 2 for a
// link whose ends are both alive, or 1 when nobody but one end can tell.
func (h *Harness) AwaitSeen(r fault.Report, ends int) fault.Report {
	h.t.Helper()
	h.Eventually(func() error {
		for _, now := range h.Faults() {
			if now.ID == r.ID {
				r = now
			}
		}
		if len(r.Detected) < ends {
			return fmt.Errorf("%s: %d ends have found out, expected %d", r.What, len(r.Detected), ends)
		}
		return nil
	})
	return r
}

// SetTraffic replaces what all NICs inject, as "uniform:0.2" or "none".
func (h *Harness) SetTraffic(spec string) {
	h.t.Helper()
	t, err := settings.ParseTraffic(spec)
	if err == nil {
		err = h.fabric.SetTraffic(t)
	}
	if err != nil {
		h.fail("traffic %s: %v", spec, err)
	}
}

func (h *Harness) nicID(name string) weft.NICID {
	h.t.Helper()
	id, err := h.Topology().NICByName(name)
	if err != nil {
		h.fail("harness: %v", err)
	}
	return id
}
