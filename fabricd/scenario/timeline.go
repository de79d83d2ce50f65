package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// verbs are what a step can do besides traffic, in the order of the file format, and the parameters
// each takes.
var verbs = []struct {
	verb   fault.Verb
	names  func(*format.Step) format.Names
	params []string
}{
	{fault.VerbCut, func(s *format.Step) format.Names { return s.Cut }, []string{"direction", "silent", "for"}},
	{
		fault.VerbFlap, func(s *format.Step) format.Names { return s.Flap },
		[]string{"direction", "silent", "for", "period", "duty", "count", "jitter"},
	},
	{
		fault.VerbImpair, func(s *format.Step) format.Names { return s.Impair },
		[]string{"direction", "for", "jitter", "loss", "delay", "rate", "clear"},
	},
	{fault.VerbCrash, func(s *format.Step) format.Names { return s.Crash }, []string{"for"}},
	{fault.VerbRestore, func(s *format.Step) format.Names { return s.Restore }, []string{"direction"}},
	{fault.VerbRestart, func(s *format.Step) format.Names { return s.Restart }, nil},
	{fault.VerbHeal, func(s *format.Step) format.Names {
		if s.Heal {
			return format.Names{""}
		}
		return nil
	}, nil},
}

// params are the parameters of s that are given, by their names in the file.
func params(s *format.Step) (given []string) {
	for _, p := range []struct {
		name  string
		given bool
	}{
		{"direction", s.Direction != ""},
		{"silent", s.Silent},
		{"for", s.For != ""},
		{"period", s.Period != ""},
		{"duty", s.Duty != ""},
		{"count", s.Count != 0},
		{"jitter", s.Jitter != ""},
		{"loss", s.Loss != ""},
		{"delay", s.Delay != ""},
		{"rate", s.Rate != ""},
		{"clear", s.Clear},
	} {
		if p.given {
			given = append(given, p.name)
		}
	}
	return given
}

func (p *parser) timeline(steps []format.Step, g *topology.Graph, s *Scenario) {
	for i := range steps {
		path := fmt.Sprintf("$.timeline[%d]", i)
		at := p.duration(path+".at", steps[i].At)
		if at > s.Duration {
			p.fail(path+".at", fmt.Errorf("%v is after the end of the scenario at %v: lengthen duration or move the step", at,
				s.Duration))
		}
		if n := len(s.Timeline); n > 0 && at < s.Timeline[n-1].At {
			p.fail(path+".at", fmt.Errorf("%v is before the step above it at %v: put the steps in order", at,
				s.Timeline[n-1].At))
		}
		a := p.step(path, &steps[i], g)
		a.At = at
		s.Timeline = append(s.Timeline, a)
	}
}

func (p *parser) step(path string, st *format.Step, g *topology.Graph) (a Action) {
	found := 0
	var takes []string
	var verb fault.Verb
	var names format.Names
	for _, v := range verbs {
		if n := v.names(st); len(n) > 0 {
			found++
			verb, takes, names = v.verb, v.params, n
		}
	}
	other := "traffic"
	if st.Traffic != "" {
		found++
	}
	if st.Send != nil {
		found++
		other = "send"
	}
	if found != 1 {
		p.fail(path,
			fmt.Errorf("expected exactly one of cut, flap, impair, crash, restore, restart, heal, traffic, send, found %d",
				found))
		return a
	}
	before := p.errs.Len()
	for _, name := range params(st) {
		if !slices.Contains(takes, name) {
			p.fail(path+"."+name, fmt.Errorf("%s takes no %s: %s", cmp.Or(string(verb), other), name, takers(name)))
		}
	}
	if st.Send != nil {
		return p.send(path+".send", *st.Send, g)
	}
	if verb == "" {
		t := p.traffic(path+".traffic", st.Traffic)
		return Action{Text: "traffic " + st.Traffic, Traffic: &t}
	}
	spec := p.spec(path, verb, st)
	if p.errs.Len() == before {
		// The parameters together, with a name that is well-formed: names are looked up below.
		whole := spec
		if whole.Do != fault.VerbHeal {
			whole.A = "x-y"
		}
		each(whole.Validate(), func(err error) { p.fail(path, err) })
	}
	var shown []string
	for i, name := range names {
		one := spec
		at := path + "." + string(verb)
		if len(names) > 1 {
			at += fmt.Sprintf("[%d]", i)
		}
		if verb != fault.VerbHeal {
			var err error
			if one.A, one.Direction, err = target(g, one, name); err != nil {
				p.fail(at, err)
				continue
			}
		}
		if slices.Contains(shown, one.A) {
			p.fail(at, fmt.Errorf("%s is named twice", one.A))
		}
		shown = append(shown, one.A)
		a.Faults = append(a.Faults, one)
	}
	a.Text = "heal all"
	if verb != fault.VerbHeal {
		if len(a.Faults) > 0 {
			spec = a.Faults[0]
		}
		spec.A = strings.Join(shown, ", ")
		a.Text = spec.String()
	}
	return a
}

// takers says which verbs take a parameter.
func takers(param string) string {
	var list []string
	for _, v := range verbs {
		if slices.Contains(v.params, param) {
			list = append(list, string(v.verb))
		}
	}
	return "it belongs to " + strings.Join(list, ", ")
}

// spec is what st orders, but for the name.
func (p *parser) spec(path string, verb fault.Verb, st *format.Step) fault.Spec {
	s := fault.Spec{Do: verb, Silent: st.Silent}
	duration := func(field string, text format.Duration) *fault.Duration {
		return read[fault.Duration](p, path+"."+field, string(text))
	}
	if d := read[fault.Direction](p, path+".direction", st.Direction); d != nil {
		s.Direction = *d
	}
	if d := duration("for", st.For); d != nil {
		p.fail(path+".for", above(d, "for"))
		s.For = *d
	}
	jitter := duration("jitter", st.Jitter)
	switch verb {
	case fault.VerbFlap:
		s.Flap = &fault.Flap{Duty: read[fault.Percent](p, path+".duty", string(st.Duty)), Count: st.Count}
		if d := duration("period", st.Period); d != nil {
			s.Flap.Period = *d
		}
		if jitter != nil {
			s.Flap.Jitter = *jitter
		}
	case fault.VerbImpair:
		s.Impair = &fault.Impair{
			Loss: read[fault.Percent](p, path+".loss", string(st.Loss)), Delay: duration("delay", st.Delay),
			Jitter: jitter, Rate: read[fault.Rate](p, path+".rate", string(st.Rate)),
		}
		if st.Clear {
			clearRest(s.Impair)
		}
	}
	return s
}

// clearRest makes perfect what c does not name.
func clearRest(c *fault.Impair) {
	c.Loss = cmp.Or(c.Loss, new(fault.Percent))
	c.Delay = cmp.Or(c.Delay, new(fault.Duration))
	c.Jitter = cmp.Or(c.Jitter, new(fault.Duration))
	c.Rate = cmp.Or(c.Rate, new(fault.Rate))
}

// target finds what a step names, and returns the fabric's name for it, with the direction as that
// name has it. Restore takes a link or a switch; the error of a name that is neither speaks of
// links.
func target(g *topology.Graph, s fault.Spec, name string) (string, fault.Direction, error) {
	if s.Do == fault.VerbCrash || s.Do == fault.VerbRestart || s.Do == fault.VerbRestore {
		_, err := g.SwitchByName(name)
		switch {
		case err == nil && s.Do == fault.VerbRestore && s.Direction != "":
			return "", "", fmt.Errorf("%s is a switch: only a link has directions", name)
		case err == nil || s.Do != fault.VerbRestore:
			return name, "", err
		}
	}
	l, err := g.LinkByName(name)
	if err != nil {
		return "", "", err
	}
	first := g.Name(l.A.Node)
	if name != l.Name && !strings.HasPrefix(name, first+"-") && !strings.HasPrefix(name, first+":") {
		return l.Name, reverse(s.Direction), nil
	}
	return l.Name, s.Direction, nil
}

func reverse(d fault.Direction) fault.Direction {
	switch d {
	case fault.To:
		return fault.From
	case fault.From:
		return fault.To
	}
	return d
}
