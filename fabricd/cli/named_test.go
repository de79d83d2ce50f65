package cli_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// plainServer is a NATS server without JetStream.
func plainServer(t *testing.T) string {
	t.Helper()
	return natstest.Start(t, natstest.Newest).URL
}

// nameTaken is why a second fabric of a name does not start.
const nameTaken = `bus: name of fabric "lab": a fabric of this name runs at this server already, process ? on host ?: end it there, or choose another name`

// Whoever starts a second fabric of a name is refused, also where no registry of this host tells of
// the first: another user has another registry, and another host, too.
func TestASecondFabricOfOneNameAtOneServerIsRefused(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	attempts := 0
	for kind, server := range map[string]func(*testing.T) string{"presence": plainServer, "jetstream": keepingServer} {
		t.Run(kind, func(t *testing.T) {
			ownRegistry(t)
			url := server(t)
			u := launch(t, "--server", url, "--fabric", "lab")
			carries(t, u.operator(t))
			ownRegistry(t) // that of another
			for range 2 {
				attempts++
				refused(t, nameTaken, "up", "--topology", "kary-ntree:2,2",
					"--server", url, "--fabric", "lab")
			}
			carries(t, u.operator(t))
			text := u.end(t)
			require.Regexp(t, `in flight: balanced`, text)
			require.NotContains(t, text, "protocol fault")
			require.NotContains(t, text, "damaged")

			again := launch(t, "--server", url, "--fabric", "lab") // the name ends with its fabric
			again.end(t)
		})
	}
	attack.Count(t, "a second fabric of a name at one server", attempts)
}

// Of several that start at once one has the name.
func TestOfFabricsOfOneNameThatStartAtOnceOneRuns(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	url := plainServer(t)
	const rounds, n = 5, 6
	for range rounds {
		names, errs := make(chan *bus.Name, n), make(chan error, n)
		for i := range n {
			go func() {
				name, err := bus.TakeName(t.Context(), bus.NameConfig{Fabric: "lab", URL: url, Host: "h", PID: i})
				names <- name
				errs <- err
			}()
		}
		taken := 0
		for range n {
			if err := <-errs; err != nil {
				require.ErrorIs(t, err, bus.ErrNameTaken)
			}
			if name := <-names; name != nil {
				taken++
				defer name.Close()
			}
		}
		require.Equal(t, 1, taken)
		url = plainServer(t)
	}
	attack.Count(t, "fabrics of one name that start at once", rounds*n)
}

// A claim ends with its owner, however that ends: at once at a server that keeps nothing, else when
// its lease has run out.
func TestTheNameOfAFabricThatWasKilledCanBeTaken(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	bin := builtCommands(t)
	tried := attack.Tally(t, "the process of a fabric killed, and its name taken again")
	for kind, server := range map[string]func(*testing.T) string{"presence": plainServer, "jetstream": keepingServer} {
		t.Run(kind, func(t *testing.T) {
			ownRegistry(t)
			url := server(t)
			p := rig.Run(t, exec.Command(filepath.Join(bin, "fabricd"), "up", "-t", "kary-ntree:2,2", "--server", url,
				"--fabric", "lab", "--listen", "off"))
			p.Says("fabric lab: ")
			ownRegistry(t)
			refused(t, nameTaken, "up", "--topology", "kary-ntree:2,2", "--server",
				url, "--fabric", "lab")
			p.Kill()
			require.False(t, p.Cmd.ProcessState.Success())
			tried.Add(1)
			u := launch(t, "--server", url, "--fabric", "lab")
			carries(t, u.operator(t))
			u.end(t)
		})
	}
}

// Fabrics of different names at one server never hear each other, though names begin alike or are
// words of subjects.
func TestFabricsOfDifferentNamesDoNotHearEachOther(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	ownRegistry(t)
	url := plainServer(t)
	names := []string{"a", "a-b", "ab", "l", "ctl", "weft"}
	clients, taps := map[string]*api.Client{}, map[string]*bus.Tap{}
	var fabrics []*running
	for _, name := range names {
		fabrics = append(fabrics, begin(t, "up", "--topology", "kary-ntree:2,2", "--server", url, "--fabric", name,
			"--listen", "off",
			"--traffic", "uniform:0.05"))
		var e registry.Entry
		rig.Until(t, func() (found bool) {
			for _, known := range registry.Names() {
				found = found || known == name
			}
			if !found {
				return false
			}
			var err error
			e, err = registry.Find(name)
			return err == nil
		})
		c, err := api.Dial(e, "test", true)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		clients[name] = c
		carries(t, c)
		ear := bustest.Client(t, bus.ClientConfig{Fabric: name, URL: url})
		taps[name], err = ear.Tap(nil, 1024)
		require.NoError(t, err)
	}
	_, err := clients["a"].Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	require.NoError(t, err)
	for _, name := range names {
		c := clients[name]
		s, err := c.Status(t.Context())
		require.NoError(t, err)
		carried := s.Totals.Delivered
		rig.Until(t, func() bool {
			s, err = c.Status(t.Context())
			return err == nil && s.Totals.Delivered > carried+20
		})
		require.Equal(t, name == "a", len(s.LinksCut) > 0, name)
		require.Zero(t, s.Totals.DamagedFrames, name)
		events, err := c.Events(t.Context(), 0)
		require.NoError(t, err)
		for _, e := range events {
			require.NotContains(t,
				[]string{
					fabric.EventUnknownSubject, fabric.EventProtocolFault, fabric.EventDamaged,
					fabric.EventInboxFull,
				}, e.Kind, name)
			require.True(t, name == "a" || e.Kind != string(fault.VerbCut), name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	for name, tap := range taps {
		_, err := tap.Next(ctx)
		require.NoError(t, err, name)
	}
	for _, f := range fabrics {
		f.end(t) // with 0: each ledger balances
	}
	refused(t, `bus: fabric name "a.ctl": want 1 to 32 of a-z, 0-9 and '-', not beginning with '-': not a valid name`,
		"up", "--topology", "kary-ntree:2,2", "--server", url, "--fabric", "a.ctl")
}
