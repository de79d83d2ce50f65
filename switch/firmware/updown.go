package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// UpDown is up/down routing in fat trees without re-routing on the way down: the baseline. A packet
// goes up by the default up port (any live one when that is dead) until its destination is below,
// then down by the only port there is; when that is dead it is discarded. One virtual channel, no
// deadlock: no channel that leads down is ever followed by one that leads up.
type UpDown struct {
	// Up chooses the up port, by index, instead of the default; any choice is free of deadlock. It
	// must be based on destinations, as all else is.
	Up func(sw View, pkt *weft.Header) int
}

const (
	ruleUp       = "1: up"
	ruleUpOther  = "1: up, the default port is dead"
	ruleDownDead = "2: the down link is dead"
	ruleLost     = "up/down: came down where its destination is not"
)

// Firmware is the firmware.
func (u UpDown) Firmware() Firmware {
	return Firmware{
		Name: "updown", On: Trees, VCs: 1,
		About: "fat trees: up to a common ancestor, then down; discards at a dead down link (the baseline)",
		Route: u.route, ChannelNumber: upDownNumber,
		// A packet that came from above is sent down and one that came from below up or down, however
		// often it is asked and whatever links are dead, so still no channel that leads down is
		// followed by one that leads up.
		CheckRequeue: mayRequeue, DestinationBased: true,
	}
}

// upDownNumber numbers channels up towards the top, then down from it.
func upDownNumber(place *weft.Place, p weft.PortID, _ weft.VC) int {
	t := place.Tree
	s, up := linkTier(t, p)
	if up {
		return t.N - 2 - s
	}
	return t.N - 1 + s
}

// It writes its usual answers where they are wanted: to make them elsewhere and copy them took
// longer than the rest of it.
func (u UpDown) route(pkt *weft.Header, at Arrival, sw View) (d Decision) {
	t := sw.Place().Tree
	switch {
	case t.HasDown(pkt.Dst):
		dp := t.DownPort(pkt.Dst)
		if !sw.PortUp(dp) {
			return switching.Discard(ruleDownDead)
		}
		d.Candidates, d.Rule = only(sw, dp, at.VC, &pkt.Fields), ruleDown
		return d
	case at.From == weft.RoleUp:
		return switching.Discard(ruleLost)
	}
	if u.Up != nil {
		if p := t.Up(u.Up(sw, pkt)); sw.PortUp(p) {
			return switching.To(sw, p, at.VC, pkt.Fields, ruleUp)
		}
	}
	if p := t.DefaultUp(pkt.Dst); sw.PortUp(p) {
		d.Candidates, d.Rule = only(sw, p, at.VC, &pkt.Fields), ruleUp
		return d
	}
	return goUp(sw, t, pkt.Dst, at.VC, &pkt.Fields)
}
