package ibd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each engine of OpenSM routes a fabric that it is for: what it wrote is read back by its own
// tools, every pair has traffic, and packets go where the tables say.
func TestOpenSMRoutesWhatSwitchesForward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topology string
		engines  []string
		takes    func(testing.TB) // what it asks for, if it takes long
	}{
		{"kary-ntree:2,3", []string{"minhop", "ftree", "updn"}, nil},
		{"torus:4x4", []string{"dor", "lash", "dfsssp"}, nil},
		{"irregular:16,32,3", []string{"updn", "lash", "dfsssp", "minhop", "sssp"}, testenv.Long},
		{"irregular:64,128,1", []string{"updn", "dnup", "lash", "dfsssp", "minhop", "sssp"}, testenv.Long},
		{"irregular:128,256,1", []string{"updn", "dnup", "lash", "dfsssp", "minhop", "sssp"}, testenv.Nightly},
		{"torus:4x4x4", []string{"dor", "lash", "dfsssp"}, testenv.Long},
		{"torus:5x5x5", []string{"torus-2QoS"}, testenv.Long},
		{"mport-tree:12,2", []string{"ftree", "minhop", "updn", "dnup", "dfsssp", "sssp"}, testenv.Long},
		{"mport-tree:36,2", []string{"ftree", "minhop", "updn", "dnup", "dfsssp", "sssp"}, testenv.Nightly},
	} {
		for _, engine := range c.engines {
			t.Run(c.topology+"/"+engine, func(t *testing.T) {
				t.Parallel()
				if c.takes != nil {
					c.takes(t)
					testenv.Unraced(t)
				}
				m := manage(t, c.topology)
				m.opensm("", m.with(engine)...)
				log, err := os.ReadFile(m.log(""))
				require.NoError(t, err)
				require.Contains(t, string(log), engine+" tables configured on all switches")
				m.requireCycle(engine, m.requireForwardsAsRead())
				switch engine {
				case "lash":
					m.requireLevels(24, 1)
				case "dfsssp": // draws one of up to eight levels of a path each time that it is asked
					m.requireLevels(6, 150)
				}
			})
		}
	}
}

// with are the options of OpenSM for an engine.
func (m *managed) with(engine string) []string {
	m.Helper()
	g := m.Topology()
	guid := func(s int) string { return g.Identity(weft.SwitchID(s).Node()).GUID.String() }
	file := func(name, text string) string {
		path := filepath.Join(m.dir, name)
		require.NoError(m.T, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	switch {
	case engine == "torus-2QoS":
		at := func(x, y, z int) string {
			s, err := g.SwitchByName(fmt.Sprintf("s%d.%d.%d", x, y, z))
			require.NoError(m.T, err)
			return guid(int(s))
		}
		text := fmt.Sprintf("torus 5 5 5\nxp_link %[1]s %[2]s\nyp_link %[1]s %[3]s\nzp_link %[1]s %[4]s\n",
			at(0, 0, 0), at(1, 0, 0), at(0, 1, 0), at(0, 0, 1))
		return []string{"-R", engine, "-Q", "--torus_config", file("torus.conf", text)}
	case (engine == "updn" || engine == "dnup") && g.Tiers == 0:
		return []string{"-R", engine, "-a", file("roots", guid(0)+"\n")}
	}
	return []string{"-R", engine}
}

// requireLevels requires that NICs send in several lanes, and some of them in that of a level that
// saquery says, asked so often at most.
func (m *managed) requireLevels(pairs, most int) {
	m.Helper()
	g := m.Topology()
	lid := regexp.MustCompile(`lid (\d+)-`)
	level := regexp.MustCompile(`\tsl\.+0x([0-9a-fA-F]+)`)
	used := map[uint64]bool{}
	for i := range g.NICs {
		if i%(1+len(g.NICs)/24) != 0 {
			continue
		}
		src, dst := g.NICs[i], g.NICs[(i+len(g.NICs)/2+i%3)%len(g.NICs)]
		path := m.RequireDelivered(m.Send(src.Name, dst.Name))
		lane := uint64(path.Hops[0].InVC)
		used[lane] = true
		if pairs--; pairs < 0 {
			continue
		}
		from, to := g.Identity(src.ID.Node()), g.Identity(dst.ID.Node())
		text := m.run("", "ibtracert", "-G", from.PortGUID.String(), to.PortGUID.String())
		traced := lid.FindAllStringSubmatch(text, -1)
		var records []uint64
		for range most {
			record := m.run("", "saquery", "-p", "--src-to-dst", traced[0][1]+":"+traced[len(traced)-1][1])
			found := level.FindStringSubmatch(record)
			require.NotNil(m.T, found, record)
			sl, err := strconv.ParseUint(found[1], 16, 8)
			require.NoError(m.T, err)
			if records = append(records, sl); sl == lane {
				break
			}
		}
		require.Contains(m.T, records, lane, "%s to %s", src.Name, dst.Name)
	}
	require.Greater(m.T, len(used), 1)
}

// allSent is how many NICs a fabric may have for every pair of them to be sent between; in a larger
// one each sends to some. So few as mostSent are on their way at once that they cannot fill the
// buffers of a cycle of channels, such as minhop, dor and sssp leave: on a busy machine packets
// would wait for each other.
const (
	allSent  = 64
	mostSent = 8
)

// requireForwardsAsRead sends between pairs of NICs, and requires the ways that dump_fts reads, and
// ibtracert of some.
func (m *managed) requireForwardsAsRead() *layered.Routing {
	m.Helper()
	g := m.Topology()
	before := m.Fabric().Ledger()
	text := m.run("", "dump_fts")
	read := opensm.File{Name: "dump_fts", Reader: strings.NewReader(text)}
	r, err := opensm.Load(m.Context(), g, opensm.Files{LFT: read})
	require.NoError(m.T, err, text)
	// dump_fts leaves out the last LID where that is a multiple of 64.
	unread := weft.NICID(len(g.NICs))
	if r.Unroutable > 0 {
		require.Zero(m.T, (len(g.NICs)+len(g.Switches))%64)
		require.Equal(m.T, len(g.NICs)-1, r.Unroutable)
		for d := range unread {
			if _, ok := r.Tables.Lookup(0, d, 0, 0); !ok {
				unread = d
			}
		}
	}
	step := 1 + len(g.NICs)/allSent*7
	type sent struct {
		harness.Packet
		src, dst weft.NICID
	}
	var all []sent
	for _, a := range g.NICs {
		for i := 1; i < len(g.NICs); i += step {
			b := g.NICs[(int(a.ID)+i)%len(g.NICs)]
			if n := len(all); n >= mostSent {
				m.RequireDelivered(all[n-mostSent].Packet)
			}
			all = append(all, sent{m.Send(a.Name, b.Name), a.ID, b.ID})
		}
	}
	for i, x := range all {
		path := m.RequireDelivered(x.Packet)
		if i%(1+len(all)/5) == 0 || x.dst == unread && x.src%16 == 0 {
			from, to := g.Identity(x.src.Node()), g.Identity(x.dst.Node())
			traced := m.run("", "ibtracert", "-G", from.PortGUID.String(), to.PortGUID.String())
			m.requireInOrder(traced, path.Switches())
		}
		if x.dst != unread {
			m.requireFollows(r, x.src, x.dst, path)
		}
	}
	l := m.Quiesce()
	require.True(m.T, l.Balanced, "%+v", l)
	require.Equal(m.T, before.Discarded, l.Discarded)
	require.Equal(m.T, before.Lost, l.Lost)
	return r
}

// requireCycle requires that the status names a cycle of channels where the tables have one. What
// was read has no levels: engines that use several leave no cycle.
func (m *managed) requireCycle(engine string, read *layered.Routing) {
	m.Helper()
	several := slices.Contains([]string{"lash", "dfsssp", "torus-2QoS"}, engine)
	has := !several && !read.Dependencies(m.Context()).Acyclic()
	rig.Until(m.T, func() bool { return (m.driver.Status().Cycle != "") == has }, "tables have a cycle: %v", has)
	switch { // of others it depends on the fabric
	case engine == "dor":
		require.True(m.T, has)
	case m.Topology().Tiers > 0:
		require.False(m.T, has)
	}
}

// requireInOrder requires that a text names switches in that order, and no others.
func (m *managed) requireInOrder(text string, switches []string) {
	m.Helper()
	var named []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "-> switch port") {
			named = append(named, strings.Split(line, `"`)[1])
		}
	}
	require.Equal(m.T, switches, named, text)
}

// requireFollows requires that a packet went from switch to switch as tables say.
func (m *managed) requireFollows(r *layered.Routing, src, dst weft.NICID, path harness.Path) {
	m.Helper()
	g := m.Topology()
	at, in := g.SwitchOf(src)
	arrived := false
	for _, name := range path.Switches() {
		require.False(m.T, arrived, path)
		require.Equal(m.T, g.Switches[at].Name, name, path)
		out, ok := r.Tables.Lookup(at, dst, in, 0)
		require.True(m.T, ok, path)
		end, _, ok := g.Peer(weft.End{Node: at.Node(), Port: out.Port})
		require.True(m.T, ok)
		if arrived = end.Node == dst.Node(); !arrived {
			at, in = weft.SwitchID(end.Node.Index), end.Port
		}
	}
	require.True(m.T, arrived, path)
}

// A cut comes to OpenSM by trap 128, it writes tables without the link, and a repair brings it
// back. The report of the fault has what it did, and when.
func TestOpenSMReroutesAfterACut(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	m := manage(t, "kary-ntree:2,3")
	m.opensm("", "-R", "updn")
	m.Cut("s1.00", "s2.00")
	m.settle()
	m.requireForwardsAsRead()
	m.requirePhases()
	m.Restore("s1.00", "s2.00")
	m.settle()
	m.requireForwardsAsRead()
	require.Contains(t, m.run("", "iblinkinfo"), "Active")
}

// requirePhases requires that the report of the only fault has the phases of OpenSM, one after the
// other.
func (m *managed) requirePhases() {
	m.Helper()
	m.Eventually(m.reconfigured)
	c := m.Faults()[0].Reconfiguration
	times := []float64{
		c.TrapSeconds, c.DetectSeconds, c.DetectSeconds + c.ComputeSeconds, c.LastTableSeconds, c.InForceSeconds,
		c.SettledSeconds,
	}
	require.IsNonDecreasing(m.T, times)
	require.Positive(m.T, times[0])
	require.Equal(m.T, "opensm", c.Method)
	require.Positive(m.T, c.Switches)
	require.GreaterOrEqual(m.T, c.Entries, c.Switches)
	require.Contains(m.T, c.String(), "trap sent after")
	require.Empty(m.T, c.Error)
}

// reconfigured errs until the report of the first fault has all phases of the manager.
func (m *managed) reconfigured() error {
	if r := m.Faults()[0].Reconfiguration; r == nil || r.SettledSeconds == 0 {
		return fmt.Errorf("the manager's phases: %v", r)
	}
	return nil
}

// ibportstate disables a port: the link is cut, by whom the report says, and enabling restores it.
func TestDisablingAPortIsACut(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
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
	m.requirePhases()
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
	t.Parallel()
	testenv.Raced(t)
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

// The routes of lash in a torus do not deadlock under a load that fills each ring of it.
func TestRoutesOfLashDoNotDeadlock(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	m := manage(t, "torus:5x5")
	m.opensm("", m.with("lash")...)
	m.SetTraffic("tornado:1,radix=5")
	rig.Until(t, func() bool { return m.Fabric().Totals().Delivered > 20_000 }, "packets are not delivered")
	require.Empty(t, m.Fabric().Deadlock())
	m.requireSound()
}
