package firmware

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// TestDecisions compares decisions with testdata/<firmware>.txt. The command is
//
//	route k=2 n=3 tier=1 w=(0,1) in=p0 [vc=1] dst=5 [dead=(p1,p3)] [vector=01]
//	      [route=(p1,p3)]
//
// for one packet at switch <w,tier> of a k-ary n-tree; bit j of the vector, counted from the right, is up port j. It
// prints the candidates, what is left of a source route, the rule, the kind of step unless straight, and what is written to the register.
func TestDecisions(t *testing.T) {
	for _, e := range Entries() {
		t.Run(e.Name, func(t *testing.T) {
			datadriven.RunTest(t, "testdata/"+e.Name+".txt", func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "route" {
					d.Fatalf(t, "the command is route, not %q", d.Cmd)
				}
				return route(t, d, e)
			})
		})
	}
}

func route(t *testing.T, d *datadriven.TestData, e Entry) string {
	var k, n, tier, vc int
	var dst uint64
	var in string
	d.ScanArgs(t, "k", &k)
	d.ScanArgs(t, "n", &n)
	d.ScanArgs(t, "tier", &tier)
	d.ScanArgs(t, "in", &in)
	d.ScanArgs(t, "dst", &dst)
	d.MaybeScanArgs(t, "vc", &vc)
	port := func(s string) weft.PortID {
		p, err := strconv.Atoi(strings.TrimPrefix(s, "p"))
		if err != nil {
			d.Fatalf(t, "port %q: %v", s, err)
		}
		return weft.PortID(p)
	}
	var w []int
	var source weft.SourceRoute
	view := &fakeView{}
	for _, a := range d.CmdArgs {
		for _, s := range a.Vals {
			switch a.Key {
			case "w":
				digit, err := strconv.Atoi(s)
				if err != nil || digit >= k {
					d.Fatalf(t, "digit %q", s)
				}
				w = append(w, digit)
			case "dead":
				view.dead |= 1 << port(s)
			case "vector":
				v, err := strconv.ParseUint(s, 2, 64)
				if err != nil {
					d.Fatalf(t, "vector: %v", err)
				}
				view.registers[0] = v
			}
		}
		if a.Key == "route" {
			var err error
			if source, err = weft.ParseSourceRoute(strings.Join(a.Vals, ",")); err != nil {
				d.Fatalf(t, "route: %v", err)
			}
		}
	}
	if len(w) != n-1 {
		d.Fatalf(t, "%d digits, want %d", len(w), n-1)
	}
	view.place = placeOf(k, n, tier, w)
	p := port(in)
	pkt := weft.Header{Dst: weft.NICID(dst), VC: weft.VC(vc), Fields: weft.NewFields()}
	pkt.Route = source
	was := pkt
	decision := e.New().Route(&pkt, Arrival{Port: p, VC: weft.VC(vc), From: view.place.Roles[p]}, view)
	if pkt != was {
		d.Fatalf(t, "the packet was changed: %+v", pkt)
	}
	return print(t, decision, view.place)
}

func print(t *testing.T, d Decision, place *weft.Place) string {
	var b strings.Builder
	for i, c := range d.Candidates {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %v", c.Port, c.VC)
		if c.Fields.Route.Len() > 0 {
			fmt.Fprintf(&b, " route=(%v)", c.Fields.Route)
			c.Fields.Route = weft.SourceRoute{}
		}
		if c.Class != 0 || c.Need != 0 || c.Fields != weft.NewFields() {
			t.Fatalf("unexpected: %+v", c)
		}
	}
	if len(d.Candidates) == 0 {
		b.WriteString("discard")
	}
	fmt.Fprintf(&b, " (%s)%s", d.Rule, [...]string{"", " re-routed", " U-turn"}[d.Turn])
	if d.Write.Do {
		if d.Write.Index != 0 {
			t.Fatalf("unexpected: %+v", d.Write)
		}
		fmt.Fprintf(&b, "\n%s := %0*b", RerouteVector, place.Tree.K, d.Write.Value)
	}
	return b.String() + "\n"
}

var _ switching.View = (*fakeView)(nil)
