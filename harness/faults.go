package harness

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/nic"
)

// Cut cuts the link between two nodes, signalled: both ends lose signal. When it returns both have acted on it. Of several
// links between the two, name one with its ports, Cut("s3:4", "s7:2"). Cutting a link that is cut fails the test.
func (h *Harness) Cut(a, b string) fault.Report {
	h.t.Helper()
	r, fresh, err := h.fabric.Cut(h.link(a, b))
	if err != nil {
		h.fail("cut %s-%s: %v", a, b, err)
	}
	if !fresh {
		h.fail("cut %s-%s: it is cut already", a, b)
	}
	return r
}

// Restore brings a cut link back. When it returns both ends have it, unless one of them has crashed. Restoring a link that
// is not cut fails the test.
func (h *Harness) Restore(a, b string) {
	h.t.Helper()
	fresh, err := h.fabric.Restore(context.Background(), h.link(a, b))
	if err != nil {
		h.fail("restore %s-%s: %v", a, b, err)
	}
	if !fresh {
		h.fail("restore %s-%s: it is not cut", a, b)
	}
}

// Crash crashes a switch: all it holds is lost. When it returns its neighbours have acted on it.
func (h *Harness) Crash(name string) fault.Report {
	h.t.Helper()
	r, fresh, err := h.fabric.Crash(h.switchID(name))
	if err != nil {
		h.fail("crash %s: %v", name, err)
	}
	if !fresh {
		h.fail("crash %s: it has crashed already", name)
	}
	return r
}

// Restart starts a crashed switch again, empty. When it returns its links that are not cut are back.
func (h *Harness) Restart(name string) {
	h.t.Helper()
	fresh, err := h.fabric.Restart(context.Background(), h.switchID(name))
	if err != nil {
		h.fail("restart %s: %v", name, err)
	}
	if !fresh {
		h.fail("restart %s: it has not crashed", name)
	}
}

// Heal repairs every link and switch.
func (h *Harness) Heal() {
	h.t.Helper()
	if _, err := h.fabric.Heal(context.Background()); err != nil {
		h.fail("heal: %v", err)
	}
}

// SetTraffic replaces what all NICs inject, as "uniform:0.2" or "none".
func (h *Harness) SetTraffic(spec string) {
	h.t.Helper()
	t, err := nic.ParseTraffic(spec)
	if err == nil {
		err = h.fabric.SetTraffic(t)
	}
	if err != nil {
		h.fail("traffic %s: %v", spec, err)
	}
}

func (h *Harness) link(a, b string) weft.LinkID {
	h.t.Helper()
	l, err := h.Topology().LinkBetween(a, b)
	if err != nil {
		h.fail("harness: %v", err)
	}
	return l.ID
}

func (h *Harness) switchID(name string) weft.SwitchID {
	h.t.Helper()
	id, err := h.Topology().SwitchByName(name)
	if err != nil {
		h.fail("harness: %v", err)
	}
	return id
}

func (h *Harness) nicID(name string) weft.NICID {
	h.t.Helper()
	id, err := h.Topology().NICByName(name)
	if err != nil {
		h.fail("harness: %v", err)
	}
	return id
}
