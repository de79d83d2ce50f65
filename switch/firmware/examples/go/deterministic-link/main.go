//go:build wasip1

// Command deterministic-link is R^link_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic
// Fault Tolerance in Fat Trees, as switch/firmware/deterministic_link.go has it: a test compares
// the two.
package main

import "weft.example/firmware/weft"

// The virtual layers.
const (
	normal uint8 = iota
	rerouted
)

const (
	up uint16 = iota
	upOther
	noUp
	down
	finished
	otherDown
	first
	firstOther
	back
	backDied
	turn
	turnNext
	tried
	noOtherDown
	nodeDead
)

var rules = []string{
	up:          "1: up",
	upOther:     "1: up, the default port is dead",
	noUp:        "1: no live up port",
	down:        "2: down",
	finished:    "2: down, re-routing finished",
	otherDown:   "2a: another down port",
	first:       "2: first bounce, back to the same lower switch",
	firstOther:  "2: first bounce, another down port",
	back:        "2b: back to the same lower switch",
	backDied:    "2b: another down port, the arrival port has just died",
	turn:        "3a: U-turn, first up port of D",
	turnNext:    "3b: U-turn, next up port of D",
	tried:       "4: every up port of D has been tried",
	noOtherDown: "2: no other live down port",
	nodeDead:    "deliver: the link to the NIC is dead",
}

func init() {
	weft.Serve(func(string) (*weft.Firmware, error) {
		return &weft.Firmware{
			Name: "deterministic-link-go", About: "fat trees: deterministic-link, in Go by WebAssembly", Rules: rules,
			On: weft.Trees, VCs: 2, Tolerates: weft.Links, Flags: weft.DestinationBased | weft.Notifies | weft.Requeues,
			Work:  1 << 24, // Go's scheduler runs in it too
			Route: route, Check: check,
		}, nil
	})
}

func main() {}

// one is the decision for one port, or the discard by a rule when there is none.
func one(a *weft.Answer, p uint16, vc uint8, rule uint16, step uint8, none uint16) {
	if p == weft.NoPort {
		a.Rule = none
		return
	}
	a.To(p, vc, rule, step)
}

func route(q *weft.Request, a *weft.Answer) {
	t := q.Place().Tree()
	above := q.From == weft.Up
	switch {
	case t.HasDown(q.Dst):
		goDown(t, q, a, above)
	case !above:
		goUp(t, q, a)
	case q.VC == normal:
		one(a, t.LiveUp(0, q.Port), rerouted, turn, weft.UTurn, tried)
		a.Notify = a.Empty()
	default:
		one(a, t.LiveUp(uint32(t.UpIndex(q.Port)+1), weft.NoPort), rerouted, turnNext, weft.UTurn, tried)
		a.Notify = a.Empty()
	}
}

func goUp(t *weft.Tree, q *weft.Request, a *weft.Answer) {
	p := t.DefaultUp(q.Dst)
	if weft.PortUp(p) {
		a.To(p, normal, up, weft.Straight)
		return
	}
	other := t.LiveUp(uint32(t.UpIndex(p)+1), p)
	if other == weft.NoPort {
		other = t.LiveUp(0, p)
	}
	one(a, other, normal, upOther, weft.Reroute, noUp)
}

func goDown(t *weft.Tree, q *weft.Request, a *weft.Answer, above bool) {
	p := t.DownPort(q.Dst)
	if weft.PortUp(p) {
		switch {
		case q.VC == normal:
			a.To(p, normal, down, weft.Straight)
		case above:
			a.To(p, normal, finished, weft.Straight)
		default:
			a.To(p, rerouted, down, weft.Straight)
		}
		return
	}
	if t.Leaf() {
		a.Rule = nodeDead
		return
	}
	bounced, died := back, backDied
	if q.VC == normal {
		bounced, died = first, firstOther
	}
	switch {
	case above:
		one(a, t.OtherDown(p), normal, otherDown, weft.Reroute, noOtherDown)
	case weft.PortUp(q.Port):
		a.To(q.Port, q.VC, bounced, weft.Reroute)
	default:
		one(a, t.OtherDown(p), q.VC, died, weft.Reroute, noOtherDown)
	}
}

func check(p *weft.Place, _ uint32) string {
	if p.Tree().K == 0 {
		return "routes trees whose switches have as many up ports at each tier: take updown"
	}
	return ""
}

// Each hop is in a channel of a higher number: section VI.C of the paper.
//
//go:wasmexport weft_channel_number
func channelNumber(place, p, vc uint32) int32 {
	t := weft.PlaceAt(place).Tree()
	tier, digit, step := int32(t.Tier), int32(t.UpIndex(uint16(p))), int32(1)
	if digit >= 0 {
		tier--
	} else {
		digit, step = int32(t.Digit(t.Tier)), 2
	}
	base := int32(t.N) - 1 + tier*(2*int32(t.K)+1)
	switch {
	case uint8(vc) != normal:
		return base + 2*digit + step
	case step == 1:
		return int32(t.N) - 2 - tier
	}
	return base
}
