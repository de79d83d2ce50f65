package auth_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMain(m *testing.M) {
	testenv.MostlyWaits()
	goleak.VerifyTestMain(m)
}

// lab is a folder of keys and the servers that trust it.
type lab struct {
	t       *testing.T
	path    string
	dir     *auth.Dir
	tokens  []auth.NewToken
	url     string
	servers []*natstest.Server
}

// newLab makes keys for hosts on loopback addresses and starts their servers.
func newLab(t *testing.T, release natstest.Release, hosts ...auth.Host) *lab {
	t.Helper()
	return startLab(t, release, time.Now(), hosts...)
}

// newLabAt makes keys at another time.
func newLabAt(t *testing.T, now time.Time) *lab {
	t.Helper()
	return startLab(t, natstest.Newest, now)
}

func startLab(t *testing.T, release natstest.Release, now time.Time, hosts ...auth.Host) *lab {
	t.Helper()
	l := &lab{t: t, path: filepath.Join(t.TempDir(), "lab")}
	port := rig.FreePort(t)
	if len(hosts) == 0 {
		hosts = []auth.Host{{Name: "a", Address: "127.0.0.1"}}
	}
	var err error
	l.dir, l.tokens, err = auth.Init(auth.Options{
		Fabric: "lab", Dir: l.path, Hosts: hosts, ClientPort: port,
		ClusterPort: rig.FreePort(t), Now: now,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.dir.Close()) })
	for _, h := range hosts {
		l.servers = append(l.servers, natstest.StartIn(t, release, filepath.Join(l.path, "hosts", h.Name), h.Address, port))
	}
	l.url = "tls://" + hosts[0].Address + ":" + strconv.Itoa(port)
	return l
}

func (l *lab) file(name string) string { return filepath.Join(l.path, filepath.FromSlash(name)) }

// credentials of a file, with the authority that signed the servers'.
func (l *lab) credentials(file string) bus.Credentials {
	return bus.Credentials{CredsFile: l.file(file), TLSCA: l.file("ca.pem")}
}
