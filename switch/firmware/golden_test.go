package firmware

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// TestDecisions compares decisions with testdata/<firmware>.txt. The command is
//
//	route k=2 n=3 tier=1 w=(0,1) in=p0 [vc=1] dst=5 [dead=(p1,p3)] [pf=-2] [misroute=01] [vector=01] [route=(p1,p3)]
//
// for one packet at switch <w,tier> of a k-ary n-tree; bit j of a vector, counted from the right,
// is up port j. The misroute vector is the header's, the other one the switch's, in every register
// it has. It prints the candidates with the fields that they change, what is left of a source
// route, the rule, the kind of step unless straight, and what is written to a register. -rewrite
// writes what is decided now, and has a firmware without a file asked what updown is asked.
func TestDecisions(t *testing.T) {
	for _, e := range variants() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			trees := map[string]*tree{}
			file := "testdata/" + e.Name + ".txt"
			if _, err := os.Stat(file); err != nil && flag.Lookup("rewrite").Value.String() == "true" {
				baseline, err := os.ReadFile("testdata/updown.txt")
				require.NoError(t, err)
				cases := regexp.MustCompile(`(?m)^route .*$`).FindAllString(string(baseline), -1)
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(cases, "\n----\n\n")+"\n----\n"), 0o644))
			}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "route" {
					d.Fatalf(t, "the command is route, not %q", d.Cmd)
				}
				return route(t, d, e, trees)
			})
		})
	}
}

func route(t *testing.T, d *datadriven.TestData, fw Firmware, trees map[string]*tree) string {
	var k, n, tier, vc int
	var dst uint64
	var in string
	pf := int(weft.PortFieldNone)
	d.ScanArgs(t, "k", &k)
	d.ScanArgs(t, "n", &n)
	d.ScanArgs(t, "tier", &tier)
	d.ScanArgs(t, "in", &in)
	d.ScanArgs(t, "dst", &dst)
	d.MaybeScanArgs(t, "vc", &vc)
	d.MaybeScanArgs(t, "pf", &pf)
	port := func(s string) weft.PortID {
		p, err := strconv.Atoi(strings.TrimPrefix(s, "p"))
		if err != nil {
			d.Fatalf(t, "port %q: %v", s, err)
		}
		return weft.PortID(p)
	}
	vector := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 2, 64)
		if err != nil {
			d.Fatalf(t, "vector: %v", err)
		}
		return v
	}
	var w []int
	var dead switching.PortSet
	pkt := weft.Header{Dst: weft.NICID(dst), VC: weft.VC(vc), Fields: weft.Fields{PortField: int16(pf)}}
	value := uint64(0)
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
				dead.Add(port(s))
			case "vector":
				value = vector(s)
			case "misroute":
				pkt.Misroute = vector(s)
			}
		}
	}
	spec := fmt.Sprintf("kary-ntree:%d,%d", k, n)
	if s, ok := routeArg(d); ok {
		var err error
		if pkt.Route, err = weft.ParseSourceRoute(s); err != nil {
			d.Fatalf(t, "route: %v", err)
		}
	}
	if trees[spec] == nil {
		trees[spec] = newTree(spec)
	}
	view := still(trees[spec].place(tier, w))
	view.Dead = dead
	for i := range view.Registers {
		view.Registers[i] = value
	}
	p := port(in)
	was := pkt
	decision := fw.Route(&pkt, Arrival{Port: p, VC: weft.VC(vc), From: view.At.Roles[p]}, view)
	if pkt != was {
		d.Fatalf(t, "the packet was changed: %+v", pkt)
	}
	return print(t, decision, fw, pkt.Fields, view.At)
}

func routeArg(d *datadriven.TestData) (string, bool) {
	for _, a := range d.CmdArgs {
		if a.Key == "route" {
			return strings.Join(a.Vals, ","), true
		}
	}
	return "", false
}

func print(t *testing.T, d Decision, fw Firmware, was weft.Fields, place *weft.Place) string {
	var b strings.Builder
	k := place.Tree.K
	for i, c := range d.Candidates {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %v", c.Port, c.VC)
		if c.Fields.PortField != was.PortField {
			fmt.Fprintf(&b, " pf=%d", c.Fields.PortField)
		}
		if c.Fields.Misroute != was.Misroute {
			fmt.Fprintf(&b, " misroute=%0*b", k, c.Fields.Misroute)
		}
		if c.Fields.Route.Len() > 0 {
			fmt.Fprintf(&b, " route=(%v)", c.Fields.Route)
		}
		if c.Class != 0 || c.Need != 0 {
			t.Fatalf("unexpected: %+v", c)
		}
	}
	if len(d.Candidates) == 0 {
		b.WriteString("discard")
	}
	fmt.Fprintf(&b, " (%s)%s", d.Rule, [...]string{"", " re-routed", " U-turn"}[d.Turn])
	if d.Write.Do {
		fmt.Fprintf(&b, "\n%s := %0*b", fw.RegistersAt(place)[d.Write.Index].Name, k, d.Write.Value)
	}
	return b.String() + "\n"
}
