package fabric_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// trusted starts a fabric of so many hosts, or 0 in this process, on a server that trusts keys of
// its own alone, which are in dir.
func trusted(t *testing.T, n int) (l *hostLab, keys *auth.Dir, dir string, server bus.Settings) {
	t.Helper()
	dir, port := filepath.Join(t.TempDir(), "keys"), rig.FreePort(t)
	keys, _,
		err := auth.Init(auth.Options{
		Fabric: live.Name, Dir: dir, Hosts: []auth.Host{{Name: "a", Address: "127.0.0.1"}},
		ClientPort: port,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keys.Close()) })
	natstest.StartIn(t, natstest.Newest, filepath.Join(dir, "hosts", "a"), "127.0.0.1", port)
	server = bus.Settings{Server: fmt.Sprintf("tls://127.0.0.1:%d", port), Auth: filepath.Join(dir, "leader")}
	at, err := server.Resolve(func(string) string { return "" })
	require.NoError(t, err)
	folder, err := auth.Use(at, live.Name)
	require.NoError(t, err)
	agents := newAgents(t)
	agents.URL, agents.Credentials = at.URL, bus.Credentials{TLSCA: at.Credentials.TLSCA}
	l = &hostLab{agents: agents}
	l.Lab = live.Start(t, live.Config{
		Topology: smallTree, Routing: "adaptive-link", URL: at.URL, Credentials: at.Credentials,
		Authorizer: folder.Issuer(),
		Options: []func(*fabric.Options){func(o *fabric.Options) {
			if n > 0 {
				o.Hosts, o.Host = onHosts(o.Topology, n), agents.Host
			}
		}},
	})
	renewal, err := folder.KeepRenewed(func(ctx context.Context, taken *bus.Taken) {
		taken.Hosts, taken.Missed = l.Fabric.RenewHosts(ctx)
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, renewal.Close()) })
	return l, keys, dir, server
}

// rotate has the keys rotated under load, and requires that so many hosts have new ones and carry
// packets on.
func (l *hostLab) rotate(keys *auth.Dir, hosts int) {
	l.Helper()
	l.load("uniform:0.03")
	l.more(200)
	out, err := keys.Rotate(l.Context(), auth.RotateOptions{Wait: time.Second})
	require.NoError(l, err)
	require.Equal(l, hosts, out.Renewed[0].Hosts)
	l.more(400)
	l.until("all links are up", func() bool { return len(l.Fabric.LinksDown()) == 0 })
	l.Settle()
	l.AllPairs(l.Settle)
}

// The keys of a fabric of several hosts are rotated under load, on a server that trusts them alone:
// each host comes back with credentials of its own, its links with it, and every packet is
// accounted for.
func TestKeysAreRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	l, keys, _, _ := trusted(t, 2)
	l.rotate(keys, 2)
}

// A switch that is a process gets new ones too, and hands the switch back with those that its
// operator has by then.
func TestKeysOfASwitchProcessAreRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l, keys, dir, server := trusted(t, 0)
	server.Auth = filepath.Join(dir, "users", "operator")
	at, err := server.Resolve(func(string) string { return "" })
	require.NoError(t, err)
	id, err := l.Fabric.Topology().SwitchByName("s1.00")
	require.NoError(t, err)
	ctx, leave := context.WithCancel(t.Context())
	attached, left := make(chan struct{}), make(chan error, 1)
	go func() {
		left <- member.Run(ctx, member.Config{
			Fabric: live.Name, URL: at.URL, Credentials: at.Credentials, Switch: "s1.00",
			Attached: func(host.Spec) { close(attached) },
		})
	}()
	defer func() {
		leave()
		require.NoError(t, <-left)
		require.Empty(t, l.Fabric.SwitchProcesses())
		l.AllPairs(l.Settle)
	}()
	select {
	case <-attached:
	case err := <-left:
		left <- nil
		t.Fatal(err)
	}
	was := l.Fabric.Switch(id).Stats.Forwarded
	l.rotate(keys, 1)
	require.Greater(t, l.Fabric.Switch(id).Stats.Forwarded, was)
	require.Len(t, l.Fabric.SwitchProcesses(), 1)
	require.True(t, l.Fabric.SwitchProcesses()[0].Answers)
}
