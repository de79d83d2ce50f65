package ibd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each engine of OpenSM routes a fabric that it is for: what it wrote is read back by its own tools,
// every pair has traffic, and packets go where the tables say.
func TestOpenSMRoutesWhatSwitchesForward(t *testing.T) {
	for _, c := range []struct {
		topology string
		engines  []string
		long     bool
	}{
		{"kary-ntree:2,3", []string{"minhop", "ftree", "updn"}, false},
		{"torus:4x4", []string{"dor", "lash", "dfsssp"}, false},
		{"irregular:16,32,3", []string{"updn", "lash", "dfsssp", "minhop", "sssp"}, true},
		{"irregular:64,128,1", []string{"updn", "lash", "dfsssp"}, true},
		{"irregular:128,256,1", []string{"updn", "lash"}, true},
		{"torus:4x4x4", []string{"lash", "dfsssp"}, true},
	} {
		for _, engine := range c.engines {
			t.Run(c.topology+"/"+engine, func(t *testing.T) {
				if c.long {
					testenv.Long(t)
				}
				m := manage(t, c.topology)
				m.opensm("", "-R", engine)
				m.requireForwardsAsRead()
			})
		}
	}
}

// requireForwardsAsRead sends between all pairs of NICs, and requires the ways that dump_fts reads.
func (m *managed) requireForwardsAsRead() {
	m.Helper()
	g := m.Topology()
	text := m.run("", "dump_fts")
	r, err := opensm.Load(m.Context(), g, opensm.Files{LFT: opensm.File{Name: "dump_fts", Reader: strings.NewReader(text)}})
	require.NoError(m.T, err, text)
	require.Zero(m.T, r.Unroutable)
	type sent struct {
		harness.Packet
		src, dst weft.NICID
	}
	var all []sent
	for _, a := range g.NICs {
		for _, b := range g.NICs {
			if a.ID != b.ID {
				all = append(all, sent{m.Send(a.Name, b.Name), a.ID, b.ID})
			}
		}
	}
	for _, x := range all {
		path := m.RequireDelivered(x.Packet)
		at, in := g.SwitchOf(x.src)
		for _, name := range path.Switches() {
			require.Equal(m.T, g.Switches[at].Name, name, path)
			out, ok := r.Tables.Lookup(at, x.dst, in, 0)
			require.True(m.T, ok, path)
			end, _, ok := g.Peer(weft.End{Node: at.Node(), Port: out.Port})
			require.True(m.T, ok)
			if end.Node.IsSwitch() {
				at, in = weft.SwitchID(end.Node.Index), end.Port
			} else {
				require.Equal(m.T, x.dst.Node(), end.Node, path)
			}
		}
	}
	m.RequireLedger(harness.NoneDiscarded)
}

// A cut comes to OpenSM by trap 128, it writes tables without the link, and a repair brings it back.
func TestOpenSMReroutesAfterACut(t *testing.T) {
	m := manage(t, "kary-ntree:2,3")
	m.opensm("", "-R", "updn")
	m.Cut("s1.00", "s2.00")
	m.settle()
	m.requireForwardsAsRead()
	m.Restore("s1.00", "s2.00")
	m.settle()
	m.requireForwardsAsRead()
	require.Contains(t, m.run("", "iblinkinfo"), "Active")
}

// ibportstate disables a port: the link is cut, by whom the report says, and enabling restores it.
func TestDisablingAPortIsACut(t *testing.T) {
	m := manage(t, "ring:4")
	m.opensm("", "-R", "updn")
	link, err := m.Topology().LinkByName("s1-s2") // the answer goes another way
	require.NoError(t, err)
	guid := m.Topology().Identity(link.A.Node).GUID
	port := fmt.Sprint(int(link.A.Port) + 1)
	m.run("", "ibportstate", "-G", fmt.Sprint(guid), port, "disable")
	m.Eventually(func() error {
		if list := m.Faults(); len(list) != 1 || list[0].RestoredAt != 0 {
			return fmt.Errorf("reports: %v", list)
		}
		return nil
	})
	report := m.Faults()[0]
	require.Equal(t, link.Name, report.Target)
	require.Contains(t, report.Note, "by ibportstate")
	m.settle()
	m.requireForwardsAsRead()
	m.run("", "ibportstate", "-G", fmt.Sprint(guid), port, "enable")
	m.Eventually(func() error {
		if list := m.Fabric().LinksDown(); len(list) > 0 {
			return fmt.Errorf("links are down: %v", list)
		}
		return nil
	})
	m.settle()
	m.requireForwardsAsRead()
}

// perfquery counts the packets of the pipeline, and clears what it has counted.
func TestPerfqueryCountsPackets(t *testing.T) {
	m := manage(t, "ring:4")
	m.opensm("")
	for range 5 {
		m.RequireDelivered(m.Send("n0", "n2"))
	}
	count := func(at string) string {
		for line := range strings.Lines(m.run(at, "perfquery", "-x")) {
			if strings.HasPrefix(line, "PortRcvPkts") {
				return strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(line), "PortRcvPkts:"), ".")
			}
		}
		return ""
	}
	require.Equal(t, "5", count("n2"))
	m.run("n2", "perfquery", "-x", "-R")
	require.Equal(t, "0", count("n2"))
	m.RequireDelivered(m.Send("n0", "n2"))
	require.Equal(t, "1", count("n2"))
}
