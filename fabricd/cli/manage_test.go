package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestUpManagesTablesAndSaysHowLongItTook(t *testing.T) {
	dir := ownRegistry(t)
	u := launch(t, "--routing", "updown", "--method", "ddrc", "--traffic", "uniform:0.1")
	c := u.operator(t)
	carries(t, c)
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	rig.Until(t, func() bool {
		faults, err := c.Faults(t.Context())
		require.NoError(t, err)
		r := faults[0].Reconfiguration
		return r != nil && r.Method == "ddrc" && r.InForceSeconds > 0 && r.SettledSeconds > 0 && r.Error == ""
	})
	info, err := os.Stat(filepath.Join(dir, "weft.store"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	text := u.end(t)
	assert.Regexp(t, `new tables in force after [\d.]+ ms \(detect [\d.]+, compute [\d.]+, distribute [\d.]+\)`, text)
	assert.Empty(t, u.errs.String())
}

func TestManageStandsByAndTakesOver(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--routing", "ftree", "--method", "none")
	c := u.operator(t)
	carries(t, c)
	first := begin(t, "manage", "--method", "ddrc")
	first.out.Await(t, "fabric weft: managing by ddrc, tables of version 1")
	second := begin(t, "manage", "--method", "ddrc")
	second.out.Await(t, "standing by")
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	rig.Until(t, func() bool { return strings.Count(first.out.String(), "new tables in force") == 1 })
	first.end(t)
	second.out.Await(t, "managing by ddrc, tables of version 2")
	refused(t, "the fabric is managed by ddrc: give that, or no method, and another when the fabric is started again",
		"manage", "--method", "engine:updn", "--fabric", "weft")
	second.end(t)
	u.end(t)
}

func TestAFabricThatIsStartedAgainGoesOnCountingVersions(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	ownRegistry(t)
	for _, version := range []string{"tables of version 1", "tables of version 2", "tables of version 3"} {
		u := launch(t, "--routing", "ftree", "--method", "none")
		m := begin(t, "manage", "--method", "engine:updn")
		m.out.Await(t, version)
		_, err := u.operator(t).Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
		require.NoError(t, err)
		m.out.Await(t, "new tables in force")
		u.end(t)
		m.ends(t, command.ExitFailed)
		require.Equal(t, "fabricd: fabric weft has ended\n", m.errs.String())
	}
}

func TestAnOperatorUploadsNothing(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--routing", "ftree")
	for _, who := range []bus.Credentials{u.entry.Operator, u.entry.Viewer} {
		r, err := remote.Dial(bus.ClientConfig{Fabric: "weft", URL: u.entry.URL, Credentials: who})
		require.NoError(t, err)
		require.ErrorIs(t, r.Hold(t.Context()), reply.ErrDenied)
		_, err = r.Versions(t.Context())
		require.ErrorIs(t, err, reply.ErrDenied)
		require.NoError(t, r.Close())
	}
	u.end(t)
}

// Tables of OpenSM's torus-2QoS move packets between layers. Nothing is loaded on a fabric in which
// nothing is dead, and dqr, which would lose these packets, says so before anything runs.
func TestTablesThatMovePacketsBetweenLayersAreLeftAlone(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	ownRegistry(t)
	const at = "../subnet/opensm/testdata/torus5"
	const tables = "tables:" + at + "-lfts.dump.gz,sl2vl=" + at + "-sl2vl.dump.gz,path-sl=" + at + "-path-sl.txt"
	const because = "reconfiguration of " + tables + ": switch sw-0-3 moves packets for host0 from layer 0 to layer 1: " +
		"a channel list is of packets that stay in one layer and have one way, and their paths would be lost: " +
		"leave the tables as they are, or take a routing that keeps to layers, as lash or updn"
	for _, x := range []struct {
		method, refused string
	}{{"auto", ""}, {"engine:lash", ""}, {"none", ""}, {"dqr", "method dqr: " + because}} {
		file := filepath.Join(folder(t,
			map[string]string{"x.yaml": "name: x\ntopology: " + at + ".net\nrouting: " + tables + `
link: {rate: 1000000}
liveness: {interval: off}
manager: {method: ` + x.method + `}
traffic: uniform:0.3
duration: 100ms
expect: {discarded: 0, lost_at_most: 0}
`}), "x.yaml")
		for _, how := range []string{"--virtual", "--live"} {
			out, errs, code := fabricd(t, "run", how, file)
			if x.refused == "" {
				require.Zero(t, code, "%s %s: %s %s", x.method, how, out, errs)
				continue
			}
			require.NotZero(t, code, "%s %s: %s", x.method, how, out)
			require.Equal(t, "fabricd: "+x.refused+"\n", errs)
		}
	}
	u := launch(t, "--topology", at+".net", "--routing", tables, "--traffic", "uniform:0.1")
	u.errs.Await(t, "no subnet manager, the tables stay as they are: method dqr: "+because+"\n")
	u.end(t)
	refused(t, "method dqr: "+because, "up", "--topology", at+".net", "--routing", tables, "--method", "dqr")
	refused(t, because, "reroute", "--topology", at+".net", "--routing", tables, "--all")
}

// A request that nobody answers is given up after ten seconds, and a fabric that says nothing is
// asked after two. With a broker of its own, clients also lose their connection; one that is not
// ours stays.
func TestWhoFollowsAFabricHearsAtOnceThatItEnds(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	for name, server := range map[string]func(*testing.T) []string{
		"its own broker":     func(*testing.T) []string { return nil },
		"a server":           func(t *testing.T) []string { return []string{"--server", plainServer(t)} },
		"a JetStream server": func(t *testing.T) []string { return []string{"--server", keepingServer(t)} },
	} {
		t.Run(name, func(t *testing.T) { followedToItsEnd(t, server(t)) })
	}
}

func followedToItsEnd(t *testing.T, server []string) {
	ownRegistry(t)
	u := launch(t, append([]string{"--routing", "ftree", "--method", "none"}, server...)...)
	c := u.operator(t)
	m := begin(t, "manage", "--method", "ddrc")
	m.out.Await(t, "managing by ddrc")
	followed := make(chan error, 2)
	go func() { followed <- c.Follow(t.Context(), 0, func(fabric.Event) error { return nil }) }()
	sampled := make(chan struct{}, 1)
	go func() {
		followed <- c.Watch(t.Context(), func(api.Sample) error {
			select {
			case sampled <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	<-sampled
	u.end(t)
	for range 2 {
		require.Equal(t, reply.ErrEnded, <-followed)
	}
	m.ends(t, command.ExitFailed)
	require.Regexp(t, `(^|\n)fabricd: fabric weft has ended\n$`, m.errs.String())
}
