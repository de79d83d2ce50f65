package auth_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/outside"
)

// process is one that runs with credentials of a folder of its own, as on a host.
type process struct {
	*bus.Identity
	file    string
	control *bus.Control
	issuer  *bus.Issuer
	taken   atomic.Int32
}

// run starts a process of a user.
func (l *lab) run(creds, signer string) *process {
	l.t.Helper()
	base := bus.Credentials{TLSCA: l.file("ca.pem")}
	p := &process{file: l.file("copy-" + l.t.Name()[:3] + "-" + time.Now().Format("150405.000000") + ".creds")}
	text, err := os.ReadFile(l.file(creds))
	require.NoError(l.t, err)
	require.NoError(l.t, bus.WritePrivate(p.file, text))
	p.Identity, err = bus.OpenIdentity(p.file)
	require.NoError(l.t, err)
	signerFile := ""
	if signer != "" {
		key, err := bus.ReadKey(l.file(signer))
		require.NoError(l.t, err)
		p.issuer, err = bus.NewIssuer("lab", p.Identity, key)
		require.NoError(l.t, err)
		signerFile = p.file + ".nk"
		p.control, err = bus.NewControl(bus.ControlConfig{Fabric: "lab", URL: l.url, Credentials: bus.Credentials{CredsFile: p.file, TLSCA: l.file("ca.pem")}})
		require.NoError(l.t, err)
		l.t.Cleanup(func() { require.NoError(l.t, p.control.Close()) })
		require.NoError(l.t, p.control.Serve("get.status", func(context.Context, []byte) (any, error) { return "fine", nil }))
	}
	r, err := bus.KeepRenewed(bus.RenewalConfig{
		Fabric: "lab", URL: l.url, Credentials: base, Identity: p.Identity, Issuer: p.issuer, SignerFile: signerFile,
		Took: func(context.Context, *bus.Taken) { p.taken.Add(1) },
	})
	require.NoError(l.t, err)
	l.t.Cleanup(r.Close)
	return p
}

// asks a question with credentials, and returns what comes of it once somebody answers.
func (l *lab) ask(c bus.Credentials) error {
	l.t.Helper()
	client, err := bus.Dial(bus.ClientConfig{Fabric: "lab", URL: l.url, Credentials: c})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Request(l.t.Context(), "get.status", nil, nil)
}

func TestRotationReplacesAllKeysWhileProcessesRun(t *testing.T) {
	t.Parallel()
	for _, release := range outside.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, release)
			old := map[string][]byte{}
			for _, name := range []string{"users/viewer/viewer.creds", "leader/leader.creds", "hosts/a/agent.creds", "keys/system.creds", "keys/renewer.creds"} {
				text, err := os.ReadFile(l.file(name))
				require.NoError(t, err)
				old[name] = text
			}
			leader, agent := l.run("leader/leader.creds", "leader/signing.nk"), l.run("hosts/a/agent.creds", "")
			require.NoError(t, l.ask(l.credentials("users/viewer/viewer.creds")))
			for round := range int32(2) { // the second with what the first has made
				out, err := l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Wait: time.Second})
				require.NoError(t, err)
				require.Equal(t, []string{"a"}, out.Servers)
				require.Empty(t, out.Away)
				require.Empty(t, out.Copy)
				require.Len(t, out.Renewed, 2)
				require.Equal(t, round+1, leader.taken.Load())
				require.Equal(t, round+1, agent.taken.Load())
				// Who runs comes back by itself, and answers whoever has the new ones.
				require.Eventually(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil }, patience, 20*time.Millisecond)
			}
			for name, text := range old {
				require.NoError(t, bus.WritePrivate(l.file("old.creds"), text))
				err := l.ask(l.credentials("old.creds"))
				require.ErrorContains(t, err, "refuses the user of", name)
				require.ErrorContains(t, err, "revoked or expired", name)
			}
			// What the processes have written down is what they may be started with.
			for _, p := range []*process{leader, agent} {
				r, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", URL: l.url, Credentials: bus.Credentials{CredsFile: p.file, TLSCA: l.file("ca.pem")}})
				require.NoError(t, err)
				require.NoError(t, r.Close())
			}
			// A server that was away knows it from what the others, or its own disk, have kept.
			l.servers[0].Kill()
			l.servers[0].Start()
			require.NoError(t, bus.WritePrivate(l.file("old.creds"), old["users/viewer/viewer.creds"]))
			require.ErrorContains(t, l.ask(l.credentials("old.creds")), "refuses")
			require.Eventually(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil }, patience, 20*time.Millisecond)
		})
	}
}

func TestRotationWithoutALeaderIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, outside.Newest)
	before, err := os.ReadFile(l.file("leader/leader.creds"))
	require.NoError(t, err)
	o := auth.RotateOptions{URL: l.url, Wait: 100 * time.Millisecond}
	_, err = l.dir.Rotate(t.Context(), o)
	require.ErrorIs(t, err, auth.ErrNoLeader)
	after, err := os.ReadFile(l.file("leader/leader.creds"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	leader := l.run("leader/leader.creds", "leader/signing.nk")
	require.NoError(t, l.ask(l.credentials("users/viewer/viewer.creds")), "the old ones hold")
	_, err = l.dir.Rotate(t.Context(), o)
	require.NoError(t, err, "it can be repeated")
	require.Equal(t, int32(1), leader.taken.Load())
	require.Eventually(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil }, patience, 20*time.Millisecond)

	l.servers[0].Kill()
	_, err = l.dir.Rotate(t.Context(), o)
	require.ErrorContains(t, err, "no broker answers at")
}

func TestRevokedUserIsLetInNoMore(t *testing.T) {
	t.Parallel()
	l := newLab(t, outside.Newest)
	l.run("leader/leader.creds", "leader/signing.nk")
	require.NoError(t, l.ask(l.credentials("users/operator/operator.creds")))
	client, err := bus.Dial(bus.ClientConfig{Fabric: "lab", URL: l.url, Credentials: l.credentials("users/operator/operator.creds")})
	require.NoError(t, err)
	defer client.Close()
	keys, took, err := l.dir.Revoke(t.Context(), "operator", auth.RotateOptions{URL: l.url})
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, []string{"a"}, took)
	err = l.ask(l.credentials("users/operator/operator.creds"))
	require.ErrorContains(t, err, "revoked or expired")
	require.ErrorContains(t, err, "take the newest that fabricd auth has made")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Error(t, client.Request(ctx, "get.status", nil, nil), "one that is connected loses its connection")
	require.NoError(t, l.ask(l.credentials("users/viewer/viewer.creds")), "others do not")
	_, _, err = l.dir.Revoke(t.Context(), "operatr", auth.RotateOptions{URL: l.url})
	require.ErrorContains(t, err, `"operator"`)
	require.NoError(t, l.dir.Close())
	l.dir, err = auth.Open(l.path)
	require.NoError(t, err)
	l.servers[0].Kill()
	l.servers[0].Start()
	require.ErrorContains(t, l.ask(l.credentials("users/operator/operator.creds")), "refuses", "it is in the configuration, too")
}

func TestTLSThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	l := newLab(t, outside.Newest)
	other, _, err := auth.Init(auth.Options{Fabric: "lab", Dir: l.file("other")})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	wrong := l.credentials("users/viewer/viewer.creds")
	wrong.TLSCA = l.file("other/ca.pem")
	require.ErrorContains(t, l.ask(wrong), "we do not know who signed its certificate: give the certificate of that authority with --tlsca")
	require.NoError(t, os.Chmod(l.file("users/viewer/viewer.creds"), 0o644))
	err = l.ask(l.credentials("users/viewer/viewer.creds"))
	require.ErrorIs(t, err, bus.ErrNotPrivate)
	require.ErrorContains(t, err, "run chmod o= ")
}

func TestExpiredCertificateSaysSo(t *testing.T) {
	t.Parallel()
	l := newLabAt(t, time.Now().AddDate(-2, 0, 0))
	err := l.ask(l.credentials("users/viewer/viewer.creds"))
	require.ErrorContains(t, err, "its certificate has expired")
	require.ErrorContains(t, err, "fabricd auth rotate makes new ones")
}
