package fabric

import (
	"fmt"
	"slices"
	"strings"
)

// Details says what is wrong with a link; empty: nothing.
func (s LinkState) Details() string {
	if s.Well() {
		return ""
	}
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	each := func(ab, ba string, note func(direction, what string)) {
		switch {
		case ab == ba && ab != "":
			note("both ways", ab)
		default:
			if ab != "" {
				note(s.A+" to "+s.B, ab)
			}
			if ba != "" {
				note(s.B+" to "+s.A, ba)
			}
		}
	}
	each(s.CutAB, s.CutBA, func(direction, what string) { add("cut %s, %s", direction, what) })
	if s.Flapping {
		add("flapping")
	}
	each(s.SuffersAB, s.SuffersBA, func(direction, what string) { add("%s %s", direction, what) })
	for _, e := range []struct {
		node string
		held bool
	}{{s.A, s.HeldA}, {s.B, s.HeldB}} {
		if e.held {
			add("held down by damping at %s", e.node)
		}
	}
	for _, name := range s.Dead {
		add("%s is down", name)
	}
	for _, name := range s.Suspect {
		add("%s does not answer", name)
	}
	switch {
	case len(s.Dead) > 0:
	case len(s.Suspect) > 0: // what it last said may not be so any more
		for _, e := range []struct {
			node string
			up   bool
		}{{s.A, s.AUp}, {s.B, s.BUp}} {
			if !slices.Contains(s.Suspect, e.node) {
				add("%s sees it %s", e.node, map[bool]string{true: "up", false: "down"}[e.up])
			}
		}
	case s.AUp && s.BUp:
		add("both ends see it up")
	case s.AUp:
		add("%s alone sees it up", s.A)
	case s.BUp:
		add("%s alone sees it up", s.B)
	default:
		add("neither end sees it up")
	}
	return strings.Join(list, "; ")
}
