package direct

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/fabricd/topology"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Mechanisms
		says string // as String prints it
	}{
		{"none", Mechanisms{}, "none"},
		{"I", Mechanisms{Intermediate: 1}, "I"},
		{"d + m", Mechanisms{Deterministic: true, Misroute: true}, "D+M"},
		{"M+D+I", Mechanisms{Intermediate: 1, Deterministic: true, Misroute: true}, "I+D+M"},
		{"Ix1", Mechanisms{Intermediate: 1}, "I"},
		{"Ix2+D", Mechanisms{Intermediate: 2, Deterministic: true}, "Ix2+D"},
		{"I*3", Mechanisms{Intermediate: 3}, "Ix3"},
		{"I×15", Mechanisms{Intermediate: 15}, "Ix15"},
		{
			"I+D+direction-order",
			Mechanisms{Intermediate: 1, Deterministic: true, DirectionOrder: true},
			"I+D+direction-order",
		},
		{"D+either", Mechanisms{Deterministic: true, Either: true}, "D+either"},
	} {
		m, err := Parse(c.text)
		if err != nil || m != c.want || m.String() != c.says {
			t.Errorf("%q: %+v (%s), %v; want %+v (%s)", c.text, m, m, err, c.want, c.says)
		}
		var again Mechanisms
		if text, _ := m.MarshalText(); again.UnmarshalText(text) != nil || again != m {
			t.Errorf("%q: read again it is %+v", c.text, again)
		}
	}
	for text, want := range map[string]string{
		"":                "unknown mechanism",
		"I+D+":            "unknown mechanism",
		"J":               "unknown mechanism",
		"I+dirextion":     "direction-order",
		"I+I":             "I is there twice",
		"I+Ix2":           "Ix2 is there twice",
		"D+D":             "D is there twice",
		"none+I":          "none",
		"Ix16":            "16 intermediate nodes, at most 15",
		"Ix-1":            "unknown mechanism",
		"I+either":        "add D",
		"direction-order": "add D",
	} {
		if m, err := Parse(text); !errors.Is(err, ErrMechanisms) || !strings.Contains(err.Error(), want) ||
			m != (Mechanisms{}) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, m, err, want)
		}
	}
}

func TestNewRefusesWhatIsNoTorusOrMesh(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"kary-ntree:2,3":   "kary-ntree:2,3 is no mesh, torus or ring",
		"irregular:8,12,1": "is no mesh",
		"torus:17x16x16":   "4352 switches",
	} {
		g, err := topology.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", spec, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range append([]string{"", "none", "I*2+D+M", " i x 3 + d+either", "D+direction-order", "Ix99999", "+"},
		everyMechanism...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrMechanisms) {
				t.Errorf("%q: %v is not ErrMechanisms", text, err)
			}
			return
		}
		if err := m.Check(); err != nil {
			t.Errorf("%q: %+v: %v", text, m, err)
		}
		if again, err := Parse(m.String()); err != nil || again != m {
			t.Errorf("%q is %+v, printed as %s and read again %+v, %v", text, m, m, again, err)
		}
	})
}

func TestMechanismsIncludeThoseWithFewerWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m, less string
		want    bool
	}{
		{"I", "none", true},
		{"none", "I", false},
		{"Ix3", "Ix2", true},
		{"I+D", "I", true},
		{"I+D+M", "I+M", true},
		{"I+D+M", "D+M", true},
		{"I+M", "D", false},
		{"I+D+M", "I+D", false}, // dimension order, and direction order with M
		{"I+D+M", "I+D+direction-order", true},
		{"I+D+either", "I+D", true},
		{"I+D", "I+D+either", false},
		{"I+D", "I+D+direction-order", false},
		{"I+D", "Ix2", false},
	} {
		if got := parse(t, c.m).Includes(parse(t, c.less)); got != c.want {
			t.Errorf("%s includes %s: got %v, want %v", c.m, c.less, got, c.want)
		}
	}
}
