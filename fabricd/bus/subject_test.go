package bus_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]bus.Subject{
		"weft.lab.l.1.0.s1_03.7":         {Kind: bus.SubjectLink, Fabric: "lab", Shard: 1, Node: "s1.03", Port: 7},
		"weft.lab.l.0.255.n000.0":        {Kind: bus.SubjectLink, Fabric: "lab", To: 255, Node: "n000"},
		"weft.a-1.ctl.cut":               {Kind: bus.SubjectControl, Fabric: "a-1", Verb: "cut"},
		"weft.a-1.ctl.get.status":        {Kind: bus.SubjectControl, Fabric: "a-1", Verb: "get.status"},
		"weft.lab.ev.link-changed":       {Kind: bus.SubjectEvent, Fabric: "lab", Verb: "link-changed"},
		"weft.lab.sw.s1_03.do.get.state": {Kind: bus.SubjectSwitch, Fabric: "lab", Node: "s1.03", Verb: "get.state"},
		"weft.lab.sw.s7.tell.port.down": {
			Kind: bus.SubjectSwitch, Fabric: "lab", Node: "s7", Verb: "port.down",
			Event: true,
		},
	} {
		require.NoError(t, want.Validate())
		require.Equal(t, subject, want.String())
		got, err := bus.ParseSubject(subject)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestParseSubjectRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "weft", "weft.lab", "weft.lab.l", "weft.lab.l.0.s1", "weft.lab.l.0.s1.1", "weft.lab.l.0.0.s1.1.2",
		"weft.lab.l.256.0.s1.0", "weft.lab.l.0.256.s1.0", "weft.lab.l.x.0.s1.0", "weft.lab.l.00.0.s1.0",
		"weft.lab.l.0.0.s1.256", "weft.lab.l.0.0.s1.01", "weft.lab.l.0.0.s1.-1", "weft.lab.l.0.0.s1.99999",
		"weft.lab.l.0.0.*.1", "weft.lab.l.0.*.s1.1",
		"weft.lab.l.0.0..1", "weft.lab.l.0.>", "weft.LAB.ctl.cut", "weft.-a.ctl.cut", "weft.lab.ctl.", "weft.lab.ctl.a..b",
		"weft.lab.ctl.>", "weft.lab.ctl.cut it", "weft.lab.x.cut", "weft.lab.sw.s1.do", "weft.lab.sw.s1.do.",
		"weft.lab.sw.s1.ask.x", "weft.lab.sw.s1.x", "weft.lab.sw..do.x", "weft.lab.sw.*.do.x", "weft.lab.sw.s1.do.>",
		"weft.lab.sw.s1.tell.X", "other.lab.ctl.cut",
		"weft." + strings.Repeat("a", 33) + ".ctl.cut", "weft.lab.ctl." + strings.Repeat("a", 65),
	} {
		_, err := bus.ParseSubject(s)
		require.ErrorIs(t, err, wire.ErrName, "%q", s)
	}
	require.ErrorIs(t, bus.Subject{Kind: bus.SubjectLink, Fabric: "lab", Node: "s_1"}.Validate(), wire.ErrName,
		"'_' would come back as '.'")
}

// Every shard gets its part of the switches of a small fabric.
func TestShardOfSpreads(t *testing.T) {
	t.Parallel()
	for shards := 1; shards <= bus.MaxConnections; shards++ {
		n := make([]int, shards)
		for _, tier := range []string{"s0.", "s1.", "s2."} {
			for _, w := range strings.Fields("00 01 02 03 10 11 12 13 20 21 22 23 30 31 32 33") {
				n[bus.ShardOf(tier+w, shards)]++
			}
		}
		for _, got := range n {
			require.Greater(t, got, 48/shards/2, "of 48 switches: %v", n)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("weft.lab.l.1.2.s1_03.7", "lab", "s1.03", uint16(7), 1)
	f.Add("weft.lab.ctl.get.status", "x-9", "get.status", uint16(300), 9)
	f.Add("weft.lab.sw.s1_03.tell.port", "lab", "s1", uint16(0), 0)
	f.Fuzz(func(t *testing.T, raw, fabric, name string, port uint16, shard int) {
		if s, err := bus.ParseSubject(raw); err == nil {
			require.Equal(t, raw, s.String())
		}
		for _, s := range []bus.Subject{
			{Kind: bus.SubjectLink, Fabric: fabric, Shard: shard, To: shard ^ 1, Node: name, Port: weft.PortID(port)},
			{Kind: bus.SubjectControl, Fabric: fabric, Verb: name},
			{Kind: bus.SubjectEvent, Fabric: fabric, Verb: name},
			{Kind: bus.SubjectSwitch, Fabric: fabric, Node: name, Verb: "get." + fabric, Event: port&1 == 1},
			{Kind: bus.SubjectSwitch, Fabric: fabric, Node: fabric, Verb: name, Event: port&1 == 1},
		} {
			got, err := bus.ParseSubject(s.String())
			if s.Validate() != nil {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, s, got)
		}
	})
}
