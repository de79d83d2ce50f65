package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/explain"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// ask asks in one line and wants one answer, in one line.
func ask(t *testing.T, e *explain.Explainer, line string) explain.Answer {
	t.Helper()
	var out bytes.Buffer
	tally, err := e.Lines(t.Context(), explain.NewQuestion(), "", strings.NewReader(line), &out)
	require.NoError(t, err)
	require.Equal(t, 1, tally.Lines, line)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	var a explain.Answer
	require.NoError(t, json.Unmarshal(out.Bytes(), &a), out.String())
	require.Equal(t, a.Error != "", tally.Bad == 1)
	return a
}

// Another implementation can follow a packet with nothing but answers: what a candidate says is
// what the next question asks.
func TestAPacketThatFollowsTheAnswersArrivesAroundDeadLinks(t *testing.T) {
	t.Parallel()
	const spec = "kary-ntree:4,3"
	dead := map[string][]string{ // three links of one switch group: as many as the firmwares stand
		"s0.00": {"s1.00", "s1.10"}, "s1.00": {"s0.00"}, "s1.10": {"s0.00", "s0.10"}, "s0.10": {"s1.10"},
	}
	for _, routing := range []string{"adaptive-link", "deterministic-link"} {
		e := explain.New(nil)
		turned := 0
		for dst := range 64 {
			name, in, vc := "s2.00", "n000", 0
			state := map[string]map[string]string{}
			fields := map[string]any{}
			for hops := 0; name != fmt.Sprintf("n%d%d%d", dst/16, dst/4%4, dst%4); hops++ {
				require.Less(t, hops, 20, "the packet for NIC %d goes on for ever", dst)
				header := map[string]any{"dst": dst}
				for k, v := range fields {
					header[k] = v
				}
				line, err := json.Marshal(map[string]any{
					"topology": spec, "routing": routing, "switch": name, "in": in, "vc": vc,
					"header": header, "dead_ports": append([]string{}, dead[name]...), "state": state[name],
				})
				require.NoError(t, err)
				a := ask(t, e, strings.Replace(string(line), `,"state":null`, "", 1))
				require.Empty(t, a.Error, string(line))
				require.Empty(t, a.Problems)
				require.False(t, a.Discard, "%s: %s", line, a.Rule)
				if a.Turn == "u-turn" {
					turned++
				}
				if a.Writes != nil {
					state[name] = a.Writes
				}
				c := a.Candidates[0]
				require.NotContains(t, dead[name], c.To)
				in, name, vc = name, c.To, c.VC
				for k, v := range c.Fields {
					fields[k] = v
				}
			}
		}
		require.Positive(t, turned, "%s: no packet met the dead links on its way down", routing)
	}
}

// Random questions within the bounds: no firmware that comes with Weft panics or breaks a rule of
// the pipeline, and the answer has the ports, channels and rule that the firmware itself gives.
func TestFirmwaresAnswerWhateverIsAskedOfThem(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	specs := map[firmware.Shape][]string{
		firmware.Trees: {"kary-ntree:2,3", "mport-tree:6,2", "leaf-spine:2,5,3"},
		firmware.Grids: {"torus:3x4", "ring:6"},
	}
	for _, entry := range firmware.All() {
		for _, spec := range specs[entry.On] {
			g := topologytest.Parse(t, spec)
			e := explain.New(nil)
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 3000 {
				q := explain.NewQuestion()
				q.Topology, q.Routing = spec, entry.Name
				id := weft.SwitchID(rnd.IntN(len(g.Switches)))
				place := g.Place(id)
				in, dst := rnd.IntN(place.Ports()), rnd.IntN(len(g.NICs))
				q.Switch, q.In, q.Dst = explain.Number(int(id)), explain.Number(in), explain.Number(dst)
				q.VC = rnd.IntN(entry.VCs)
				still := switching.Still{At: place, Free: q.Free}
				for p := range place.Ports() {
					if rnd.IntN(3) == 0 {
						q.Dead = append(q.Dead, explain.Number(p))
						still.Dead.Add(weft.PortID(p))
					}
				}
				require.NoError(t, q.SetPortField(rnd.IntN(place.Ports()+2)-2))
				q.Header.Misroute = rnd.Uint64N(8)
				fw := entry
				still.Channels = subnet.LeastVCs(fw, g)
				q.State = map[string]uint64{}
				for _, r := range fw.RegistersAt(place) {
					q.State[r.Name] = rnd.Uint64() >> (64 - r.Width)
					still.Registers = append(still.Registers, q.State[r.Name])
				}
				got, err := e.Explain(t.Context(), q)
				require.NoError(t, err)
				require.Empty(t, got.Problems, "%+v", q)

				h := q.Header
				h.Dst, h.VC = weft.NICID(dst), weft.VC(q.VC)
				if fw.Source != nil && place.Roles[in] == weft.RoleNIC {
					fw.Source(place, weft.PortID(in), &h)
				}
				want := fw.Route(&h, switching.Arrival{Port: weft.PortID(in), VC: h.VC, From: place.Roles[in]}, &still)
				require.Equal(t, want.Rule, got.Rule)
				require.Equal(t, len(want.Candidates) == 0, got.Discard)
				require.Len(t, got.Candidates, len(want.Candidates))
				for i, c := range want.Candidates {
					require.Equal(t, int(c.Port), got.Candidates[i].Port)
					require.Equal(t, int(c.VC), got.Candidates[i].VC)
				}
			}
		}
	}
}

// fake is a firmware made by a test.
type fake struct {
	route     func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision
	registers []switching.Register
}

func (f fake) firmware() switching.Firmware {
	return switching.Firmware{
		Name: "fake", Route: f.route, Registers: func(*weft.Place) []switching.Register { return f.registers },
	}
}

// explainer knows one firmware, which needs two virtual channels.
func explainer(f fake) *explain.Explainer {
	return explain.New(func(context.Context, string, *topology.Graph) (switching.Firmware, int, error) {
		return f.firmware(), 2, nil
	})
}

// with explains a decision in the 2-ary 3-tree, at s1.00 for a packet from s2.00 to n100.
func with(e *explain.Explainer, change ...func(q *explain.Question)) (*explain.Decision, error) {
	q := explain.NewQuestion()
	q.Topology, q.Routing = "kary-ntree:2,3", "fake"
	q.Switch, q.In, q.Dst = explain.Name("s1.00"), explain.Name("s2.00"), explain.Name("n100")
	for _, c := range change {
		c(&q)
	}
	return e.Explain(context.Background(), q)
}

func TestWhatAFirmwareMustNotDoIsNamed(t *testing.T) {
	t.Parallel()
	to := func(c ...switching.Candidate) fake {
		return fake{route: func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
			return switching.Decision{Candidates: c, Rule: "fake"}
		}}
	}
	writes := func(w switching.RegisterWrite) fake {
		return fake{
			registers: []switching.Register{{Name: "r", Width: 2}},
			route: func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
				return switching.Decision{Candidates: []switching.Candidate{{Port: 2, Fields: weft.NewFields()}}, Write: w}
			},
		}
	}
	dead := func(q *explain.Question) { q.Dead = []explain.Ref{explain.Number(2)} }
	for _, c := range []struct {
		fw      fake
		problem string
		discard bool
	}{
		{
			to(switching.Candidate{Port: 4}),
			"it names port 4, vc 0, which this switch does not have: the switch discards the packet", true,
		},
		{to(switching.Candidate{Port: weft.NoPort}), "it names port 65535", true},
		{to(switching.Candidate{Port: 3}, switching.Candidate{Port: 3, VC: 2}), "it names port 3, vc 2", true},
		{to(switching.Candidate{Port: 2}), "it names port 2, which is dead", false},
		{
			writes(switching.RegisterWrite{Do: true, Index: 1}), "it writes register 1 of 1: the switch discards the packet",
			true,
		},
		{writes(switching.RegisterWrite{Do: true, Index: -1}), "it writes register -1 of 1", true},
		{writes(switching.RegisterWrite{Do: true, Value: 4}), "it writes 3 bits to register r, which has 2", false},
		{fake{route: func(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
			pkt.PortField = 1
			return switching.To(sw, 3, 0, pkt.Fields, "fake")
		}}, "it changes the packet it is shown", false},
	} {
		d, err := with(explainer(c.fw), dead)
		require.NoError(t, err)
		require.Contains(t, strings.Join(d.Problems, "\n"), c.problem)
		require.Equal(t, c.discard, d.Discard, c.problem)
		require.Contains(t, d.String(), "PROBLEM    "+c.problem)
		_, err = json.Marshal(d)
		require.NoError(t, err)
	}
}

func TestAFirmwareThatPanicsIsNamedWithTheLine(t *testing.T) {
	t.Parallel()
	_, err := with(explainer(fake{route: func(_ *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
		return switching.To(sw, weft.PortID(sw.Place().Tree.W[9]), 0, weft.NewFields(), "fake")
	}}))
	require.ErrorContains(t, err,
		"routing: BUG in firmware fake: it panics at s1.00: runtime error: index out of range [9] with length 2 (")
	require.ErrorContains(t, err, "explain_test.go:")
	_,
		err = with(explainer(fake{route: func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
		panic("on purpose")
	}}))
	require.ErrorContains(t, err, "it panics at s1.00: on purpose (")
	require.ErrorContains(t, err, "explain_test.go:")
	_, err = with(explainer(fake{registers: []switching.Register{{Name: "r"}}}))
	require.EqualError(t, err, `routing: firmware fake declares register "r" of 0 bits, expected 1 to 64`)
}

func TestAFirmwareSeesWhatTheQuestionSays(t *testing.T) {
	t.Parallel()
	var pkt weft.Header
	var at switching.Arrival
	look := true
	e := explainer(fake{
		registers: []switching.Register{{Name: "a", Width: 64}, {Name: "b", Width: 1}},
		route: func(h *weft.Header, a switching.Arrival, sw switching.View) switching.Decision {
			pkt, at = *h, a
			if !look {
				return switching.To(sw, 3, 0, h.Fields, "looks at nothing")
			}
			out := h.Fields
			out.PortField, out.Misroute = -2, 2
			d := switching.Decision{
				Rule: fmt.Sprint(sw.Room(3, 0), sw.Credits(3, 1), sw.Occupancy(3, 1), sw.Register(0), sw.Register(1), sw.Draw(),
					sw.Now(), sw.PortUp(2), sw.PortUp(3)),
				Candidates: []switching.Candidate{
					{Port: 3, VC: 1, Fields: h.Fields},
					{Port: 1, Class: 1, Need: 2, Fields: out},
				},
				Turn: switching.Reroute,
			}
			return d
		},
	})
	d, err := with(e, func(q *explain.Question) {
		require.NoError(t,
			q.Decode([]byte(`{"vc": 1, "dead_ports": [2], "state": {"a": 18446744073709551615, "b": "1"}, "free": 7, "random": 9,
			"header": {"src": "n001", "seq": 3, "size": 64, "hops": 4, "reroutes": 5, "port_field": 1, "misroute": "01"}}`)))
	})
	require.NoError(t, err)
	require.Equal(t, "7 7 0 18446744073709551615 1 9 0s false true", d.Rule)
	require.Equal(t, []string{"registers", "queues", "draw", "now"}, d.Asked)
	require.Equal(t, weft.Header{
		Src: 1, Dst: 4, Seq: 3, Size: 64, VC: 1, Hops: 4, Reroutes: 5, Fields: weft.Fields{PortField: 1, Misroute: 1},
	}, pkt)
	require.Equal(t, switching.Arrival{Port: 0, VC: 1, From: weft.RoleDown}, at)
	require.Equal(t, []explain.Candidate{
		{Port: 3, To: "s0.10", ToPort: 0, VC: 1, Need: 1},
		{
			Port: 1, To: "s2.01", ToPort: 2, Class: 1, Need: 2,
			Fields: map[string]any{"port_field": int16(-2), "misroute": "10"},
		},
	}, d.Candidates)
	require.Contains(t, d.String(), "goes to    s0.10 by port 3, vc 1\n           s2.01 by port 1, vc 0, class 1, needs "+
		"2 free places, misroute = 10, port_field = -2\n")

	// Nothing of one question is left for the next.
	d, err = with(e)
	require.NoError(t, err)
	require.Equal(t, "2 2 0 0 0 0 0s true true", d.Rule)
	require.Equal(t, weft.NICID(0), pkt.Src)
	_, err = with(e, func(q *explain.Question) { q.Switch, q.In = explain.Name("s2.01"), explain.Number(1) })
	require.NoError(t, err)
	require.Equal(t, weft.NICID(3), pkt.Src, "the NIC at the port it came in by")
	d, err = with(e, func(q *explain.Question) { q.Header.Misroute = 2 })
	require.NoError(t, err)
	require.Equal(t, map[string]any{"port_field": int16(-2)}, d.Candidates[1].Fields, "the fields that change, no others")
	d, err = with(e, func(q *explain.Question) { q.Header.PortField = -2 })
	require.NoError(t, err)
	require.Equal(t, map[string]any{"misroute": "10"}, d.Candidates[1].Fields)
	look = false
	d, err = with(e)
	require.NoError(t, err)
	require.Empty(t, d.Asked)
}

func TestADiscardMayTellTheSource(t *testing.T) {
	t.Parallel()
	d, err := with(explainer(fake{route: func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
		return switching.Decision{Rule: "fake", Notify: true}
	}}))
	require.NoError(t, err)
	require.True(t, d.Notify && d.Discard)
	require.Contains(t, d.String(), "nowhere: it is discarded, and its source is told\n")
}

// topologyFile has two links between its switches, and a switch with a port that leads nowhere.
const topologyFile = `
switches: [{id: a, ports: 4}, {id: "7"}]
nics: [{id: x, switch: a}, {id: y, switch: "7"}]
links: [{a: a, a_port: 1, b: "7", b_port: 2}, {a: a, a_port: 2, b: "7", b_port: 5}]
`

func TestPortsOfATopologyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "t.yaml")
	require.NoError(t, os.WriteFile(file, []byte(topologyFile), 0o600))
	e := explain.New(nil)
	line := func(rest string) string {
		return fmt.Sprintf(`{"topology": %q, "routing": "none", "header": {"dst": "y"}, %s}`, file, rest)
	}
	a := ask(t, e, line(`"switch": "a", "in": "7:5"`))
	require.Equal(t, 2, a.InPort)
	require.NoError(t, os.Remove(file)) // and yet it is known: it is read once
	a = ask(t, e, line(`"switch": "7", "in": "a:1"`))
	require.Equal(t, 2, a.InPort, "a text is a name, whatever it looks like: switch 7 is number 1")
	a = ask(t, e, line(`"switch": 1, "in": "a:2"`))
	require.Equal(t, 5, a.InPort)
	a = ask(t, e, line(`"switch": "a", "in": "7"`))
	require.Equal(t, "in_port: 2 links between a and 7: name one of them: a:1-7:2, a:2-7:5", a.Error)
	a = ask(t, e, line(`"switch": "a", "in_port": 3`))
	require.Equal(t, "in_port: port 3 of a leads nowhere: nothing comes in there", a.Error)
	a = ask(t, e, line(`"switch": 7, "in_port": 3`))
	require.Equal(t, "switch: switch 7: expected 0 to 1", a.Error)
}

// subbing is what NICs write of a firmware with sub-headers.
func subbing(_ *weft.Place, _ weft.PortID, h *weft.Header) {
	h.Sub = weft.SubHeaders{weft.NewSubHeader(2).WithDeterministic(), weft.NewSubHeader(0)}
}

func TestSubHeadersAreAskedWithWrittenByTheNICAndAnswered(t *testing.T) {
	t.Parallel()
	fw := fake{route: func(h *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
		out := h.Fields
		out.Sub = out.Sub.Pop()
		return switching.To(sw, 1, 0, out, h.Sub.String())
	}}.firmware()
	fw.Source = subbing
	e := explain.New(func(context.Context, string, *topology.Graph) (switching.Firmware, int, error) { return fw, 1, nil })
	ask := func(line string) (*explain.Decision, error) {
		q := explain.NewQuestion()
		q.Topology, q.Routing, q.Switch, q.In, q.Dst = "ring:4", "subbing", explain.Name("s0"), explain.Number(2),
			explain.Name("n3")
		if err := q.Decode([]byte(line)); err != nil {
			return nil, err
		}
		return e.Explain(t.Context(), q)
	}
	for _, c := range []struct{ line, sub, after string }{
		{`{}`, "2,d;end", "end"},
		{`{"header": {"sub": "3;end,p1x2"}}`, "3;end,p1x2", "end,p1x2"},
		{`{"in": "s1"}`, "", ""},
		{`{"header": {"route": "p1"}}`, "", ""},
		{`{"header": {"sub": "nowhere"}}`, "nowhere", ""},
	} {
		d, err := ask(c.line)
		require.NoError(t, err)
		require.Equal(t, []string{c.sub, c.sub}, []string{d.Rule, d.Sub}, c.line)
		if c.sub == "" {
			require.Empty(t, d.Candidates[0].Fields, c.line)
			continue
		}
		require.Equal(t, map[string]any{"sub": c.after}, d.Candidates[0].Fields, c.line)
		require.Contains(t, d.String(), "vc 0, sub "+c.sub+"\n")
	}
	for want, line := range map[string]string{
		"header.sub: switch 4: expected 0 to 3":                             `{"header": {"sub": "3;4;end"}}`,
		"header.sub: sub-headers are at most 4 of a switch's number or end": `{"header": {"sub": "3"}}`,
		"header.sub: found 3, expected a text: sub-headers are at most":     `{"header": {"sub": 3}}`,
	} {
		_, err := ask(line)
		require.ErrorContains(t, err, want)
	}
}

// addressed has NICs send to n3 by two addresses and to n2 by one that is as without.
func addressed(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
	switch {
	case leaf.Switch == 0 && at == 2 && dst == 3:
		return []weft.Address{{Path: 2, Layers: 6, VC: 1}, {Path: 1}}
	case dst == 2:
		return []weft.Address{{Path: 1}, {}}
	}
	return nil
}

func TestAPacketFromItsNICHasAnAddressOfThatNIC(t *testing.T) {
	t.Parallel()
	fw := fake{route: func(h *weft.Header, at switching.Arrival, _ switching.View) switching.Decision {
		return switching.Discard(fmt.Sprint(h.Path, h.Layers, h.VC, at.VC))
	}}.firmware()
	fw.Addresses = addressed
	e := explain.New(func(context.Context, string, *topology.Graph) (switching.Firmware, int, error) { return fw, 3, nil })
	for _, c := range []struct {
		line, rule string
		path       int
		layers     string
	}{
		{`{"header": {"dst": "n3"}}`, "2 6 vc1 vc1", 2, "110"},
		{`{"header": {"dst": "n3", "path": 1}}`, "1 0 vc0 vc0", 1, ""},
		{`{"header": {"dst": "n3", "layers": "1"}}`, "0 1 vc0 vc0", 0, "1"},
		{`{"header": {"dst": "n3"}, "vc": 2}`, "0 0 vc2 vc2", 0, ""},
		{`{"header": {"dst": "n2"}}`, "0 0 vc0 vc0", 0, ""},
		{`{"header": {"dst": "n1"}}`, "0 0 vc0 vc0", 0, ""},
		{`{"header": {"dst": "n3"}, "in": "s1"}`, "0 0 vc0 vc0", 0, ""},
	} {
		q := explain.NewQuestion()
		q.Topology, q.Routing, q.VCs, q.Switch, q.In = "ring:4", "addressed", 3, explain.Name("s0"), explain.Number(2)
		require.NoError(t, q.Decode([]byte(c.line)))
		d, err := e.Explain(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, c.rule, d.Rule, c.line)
		require.Equal(t, c.path, d.Path, c.line)
		require.Equal(t, c.layers, d.Layers, c.line)
		if c.path == 2 {
			require.Contains(t, d.String(), "from n0 by port 2, vc 1, path 2, layers 110\n")
		}
	}
	q := explain.NewQuestion()
	require.ErrorContains(t, q.Decode([]byte(`{"header": {"layers": 65536}}`)),
		"header.layers: found 10000000000000000, expected at most 16 bits")
	require.ErrorContains(t, q.Decode([]byte(`{"header": {"path": 65536}}`)),
		"header.path: found 65536, expected a whole number from 0 to 65535")
}
