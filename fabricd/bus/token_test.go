package bus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// widest is what a switch of the most ports needs, whose neighbours have the longest of names.
func widest() bus.NodeAccess {
	name := func(kind string, i int) string {
		s := fmt.Sprint(kind, i)
		return s + strings.Repeat("x", wire.MaxName-len(s))
	}
	a := bus.NodeAccess{Node: name("s", 0), Layout: bus.Hashed(bus.MaxConnections)}
	for p := range weft.PortID(weft.MaxPorts) {
		d := wire.Direction{From: a.Node, FromPort: p, To: name("n", int(p)), ToPort: weft.MaxPorts - 1}
		a.Sends, a.Hears = append(a.Sends, d), append(a.Hears, d.Reverse())
	}
	return a
}

// The token of a switch lists its links one by one, and servers take the longest there can be.
func TestTheTokenOfTheWidestSwitchIsNotTooLong(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	dir, port := filepath.Join(t.TempDir(), "keys"), rig.FreePort(t)
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	d, _, err := auth.Init(auth.Options{
		Fabric: "lab", Dir: dir, Hosts: []auth.Host{{Name: "a", Address: "127.0.0.1"}}, ClientPort: port,
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	leader, err := bus.OpenIdentity(file("leader/leader.creds"))
	require.NoError(t, err)
	key, err := bus.ReadKey(file("leader/signing.nk"))
	require.NoError(t, err)
	issuer, err := bus.NewIssuer("lab", leader, key)
	require.NoError(t, err)
	c, err := issuer.Admit(widest())
	require.NoError(t, err)
	t.Logf("a token of %d bytes", len(c.JWT))

	server := natstest.StartIn(t, natstest.Newest, file("hosts/a"), "127.0.0.1", port)
	conn, err := nats.Connect(server.URL, nats.UserJWTAndSeed(c.JWT, c.Seed), nats.CustomInboxPrefix(c.InboxPrefix),
		nats.RootCAs(file("ca.pem")))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Flush())

	// A server with the limit that it has by itself says so, and what helps.
	server.Stop()
	config, err := os.ReadFile(file("hosts/a/nats.conf"))
	require.NoError(t, err)
	server.Start(strings.ReplaceAll(string(config), "max_control_line: 256KB", ""))
	c.TLSCA = file("ca.pem")
	_, err = bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: server.URL, Credentials: c, Subscription: bus.PerDirection})
	require.ErrorContains(t, err, "raise its max_control_line, best to 256KB")
}
