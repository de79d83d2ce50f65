package harness

import "testing"

// One is one of Seeds, with a seed drawn.
func One(t testing.TB, spec string, body func(h *Harness), options ...Option) {
	p := newPlan(t, spec, append(options, Virtual()))
	h := p.start(t, p.config)
	body(h)
	h.stop()
}
