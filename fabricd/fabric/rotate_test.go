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
	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
)

// The keys of a fabric in parts are rotated under load, on a server that trusts them alone: each part comes back with credentials of its own,
// its links with it, and every packet is accounted for.
func TestKeysAreRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	dir, port := filepath.Join(t.TempDir(), "keys"), outside.FreePort(t)
	keys, _, err := auth.Init(auth.Options{Fabric: rig.Name, Dir: dir, Hosts: []auth.Host{{Name: "a", Address: "127.0.0.1"}}, ClientPort: port})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keys.Close()) })
	outside.StartIn(t, outside.Newest, filepath.Join(dir, "hosts", "a"), "127.0.0.1", port)
	server := bus.Settings{Server: fmt.Sprintf("tls://127.0.0.1:%d", port), Auth: filepath.Join(dir, "leader")}
	at, err := server.Resolve(func(string) string { return "" })
	require.NoError(t, err)
	folder, err := auth.Use(at, rig.Name)
	require.NoError(t, err)
	h := newHosts(t)
	h.url, h.base = at.URL, bus.Credentials{TLSCA: at.Credentials.TLSCA}
	l := &partLab{hosts: h}
	l.Lab = rig.Start(t, rig.Config{
		Topology: smallTree, Routing: "adaptive-link", URL: at.URL, Credentials: at.Credentials,
		Options: []func(*fabric.Options){func(o *fabric.Options) {
			o.Parts, o.Host, o.Admitter = inParts(o.Topology, 2), h.host, folder.Issuer()
		}},
	})
	renewal, err := folder.KeepRenewed(func(ctx context.Context, taken *bus.Taken) {
		taken.Parts, taken.Missed = l.Fabric.RenewParts(ctx, folder.Issuer())
	}, nil)
	require.NoError(t, err)
	t.Cleanup(renewal.Close)

	l.load("uniform:0.1")
	l.more(1000)
	out, err := keys.Rotate(t.Context(), auth.RotateOptions{Wait: time.Second})
	require.NoError(t, err)
	require.Equal(t, 2, out.Renewed[0].Parts)
	l.more(2000)
	require.Eventually(t, func() bool { return len(l.Fabric.LinksDown()) == 0 }, rig.Patience, 10*time.Millisecond)
	l.Settle()
	l.AllPairs(l.Settle)
}
