package auth_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// process is one that runs with credentials of a folder of its own, as on a host.
type process struct {
	*bus.Identity
	file    string
	control *bus.Server
	issuer  *bus.Issuer
	taken   atomic.Int32
	took    func(context.Context, *bus.Taken) // nil: there is nobody to renew
}

// run starts a process of a user.
func (l *lab) run(creds, signer string) *process {
	l.t.Helper()
	base := bus.Credentials{TLSCA: l.file("ca.pem")}
	p := &process{file: l.file("copy-" + l.t.Name()[:3] + "-" + time.Now().Format("150405.000000") + ".creds")}
	text, err := os.ReadFile(l.file(creds))
	require.NoError(l.t, err)
	require.NoError(l.t, safefile.WriteSecret(p.file, text))
	p.Identity, err = bus.OpenIdentity(p.file)
	require.NoError(l.t, err)
	signerFile := ""
	if signer != "" {
		key, err := bus.ReadKey(l.file(signer))
		require.NoError(l.t, err)
		p.issuer, err = bus.NewIssuer("lab", p.Identity, key)
		require.NoError(l.t, err)
		signerFile = p.file + ".nk"
		p.control = bustest.Server(l.t, bus.ServerConfig{
			Fabric: "lab", URL: l.url,
			Credentials: bus.Credentials{CredsFile: p.file, TLSCA: l.file("ca.pem")},
		})
		require.NoError(l.t, bus.Handle(p.control, bus.Subject{Kind: bus.SubjectControl, Verb: "get.status"},
			func(context.Context, struct{}) (string, error) { return "fine", nil }))
	}
	r, err := bus.KeepRenewed(bus.RenewalConfig{
		Fabric: "lab", URL: l.url, Credentials: base, Identity: p.Identity, Issuer: p.issuer, SignerFile: signerFile,
		Took: func(ctx context.Context, taken *bus.Taken) {
			p.taken.Add(1)
			if p.took != nil {
				p.took(ctx, taken)
			}
		},
	})
	require.NoError(l.t, err)
	l.t.Cleanup(func() { require.NoError(l.t, r.Close()) })
	return p
}

// host runs what of a host talks to servers: its links and the side that is asked.
func (l *lab) part(leader *process, name string, shard int) *bus.NATS {
	l.t.Helper()
	layout, err := bus.NewLayout(bus.HostShards{First: shard, N: 1},
		bus.HostShards{First: 1 - shard, N: 1, Nodes: []string{[]string{"s1", "s0"}[shard]}})
	require.NoError(l.t, err)
	issued, err := leader.issuer.Admit(bus.HostAccess{Host: name, First: shard, N: 1})
	require.NoError(l.t, err)
	creds, identity, err := bus.HostCredentials(issued, bus.Credentials{TLSCA: l.file("ca.pem")})
	require.NoError(l.t, err)
	control := bustest.Server(l.t, bus.ServerConfig{Fabric: "lab", Node: name, URL: l.url, Credentials: creds})
	require.NoError(l.t, identity.Serve(control))
	links := bustest.Links(l.t, bus.NATSConfig{Fabric: "lab", URL: l.url, Credentials: creds, Layout: layout})
	return links
}

// asks a question with credentials, and returns what comes of it once somebody answers.
func (l *lab) ask(c bus.Credentials) error {
	l.t.Helper()
	client, err := bus.Dial(bus.ClientConfig{Fabric: "lab", URL: l.url, Credentials: c})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = bus.Call[struct{}](l.t.Context(), client, bus.Subject{Kind: bus.SubjectControl, Verb: "get.status"}, nil)
	return err
}

func TestRotationReplacesAllKeysWhileProcessesRun(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, release)
			old := map[string][]byte{}
			for _, name := range []string{
				"users/viewer/viewer.creds", "leader/leader.creds", "hosts/a/agent.creds",
				"keys/system.creds", "keys/renewer.creds",
			} {
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
				rig.Until(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil })
			}
			for name, text := range old {
				require.NoError(t, safefile.WriteSecret(l.file("old.creds"), text))
				err := l.ask(l.credentials("old.creds"))
				require.ErrorContains(t, err, "refuses the user of", name)
				require.ErrorContains(t, err, "revoked or expired", name)
			}
			// What the processes have written down is what they may be started with.
			for _, p := range []*process{leader, agent} {
				r,
					err := bus.NewServer(bus.ServerConfig{
					Fabric: "lab", URL: l.url,
					Credentials: bus.Credentials{CredsFile: p.file, TLSCA: l.file("ca.pem")},
				})
				require.NoError(t, err)
				require.NoError(t, r.Close())
			}
			// A server that was away knows it from what the others, or its own disk, have kept.
			l.servers[0].Kill()
			l.servers[0].Start()
			require.NoError(t, safefile.WriteSecret(l.file("old.creds"), old["users/viewer/viewer.creds"]))
			require.ErrorContains(t, l.ask(l.credentials("old.creds")), "refuses")
			rig.Until(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil })
		})
	}
}

func TestRotationWithoutALeaderIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := newLab(t, natstest.Newest)
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
	o.Wait = 2 * time.Second // who is there may be slow
	_, err = l.dir.Rotate(t.Context(), o)
	require.NoError(t, err, "it can be repeated")
	require.Equal(t, int32(1), leader.taken.Load())
	rig.Until(t, func() bool { return l.ask(l.credentials("users/viewer/viewer.creds")) == nil })

	l.servers[0].Kill()
	_, err = l.dir.Rotate(t.Context(), o)
	require.ErrorContains(t, err, "no broker answers at")
}

func TestRevokedUserIsLetInNoMore(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := newLab(t, natstest.Newest)
	l.run("leader/leader.creds", "leader/signing.nk")
	require.NoError(t, l.ask(l.credentials("users/operator/operator.creds")))
	client,
		err := bus.Dial(bus.ClientConfig{
		Fabric: "lab", URL: l.url,
		Credentials: l.credentials("users/operator/operator.creds"),
	})
	require.NoError(t, err)
	defer client.Close()
	keys, took, err := l.dir.Revoke(t.Context(), "operator", auth.RotateOptions{URL: l.url})
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, []string{"a"}, took)
	err = l.ask(l.credentials("users/operator/operator.creds"))
	require.ErrorContains(t, err, " with the key "+keys[0]+": ")
	require.ErrorContains(t, err, "revoked or expired")
	require.ErrorContains(t, err, "take the newest that fabricd auth has made")
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	status := func() error {
		_, err := bus.Call[struct{}](ctx, client, bus.Subject{Kind: bus.SubjectControl, Verb: "get.status"}, nil)
		return err
	}
	rig.Until(t, func() bool { return errors.Is(status(), reply.ErrNoAccess) },
		"one that is connected loses its connection, and tries no more")
	require.ErrorContains(t, status(), "has revoked the key "+keys[0]+" of the user of ")
	require.NoError(t, l.ask(l.credentials("users/viewer/viewer.creds")), "others do not")
	_, _, err = l.dir.Revoke(t.Context(), "operatr", auth.RotateOptions{URL: l.url})
	require.ErrorContains(t, err, `"operator"`)
	require.NoError(t, l.dir.Close())
	l.dir, err = auth.Open(l.path)
	require.NoError(t, err)
	l.servers[0].Kill()
	l.servers[0].Start()
	require.ErrorContains(t, l.ask(l.credentials("users/operator/operator.creds")), "refuses",
		"it is in the configuration, too")
}

func TestTLSThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	l := newLab(t, natstest.Newest)
	other, _, err := auth.Init(auth.Options{Fabric: "lab", Dir: l.file("other")})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	wrong := l.credentials("users/viewer/viewer.creds")
	wrong.TLSCA = l.file("other/ca.pem")
	require.ErrorContains(t, l.ask(wrong),
		"we do not know who signed its certificate: give the certificate of that authority with --tlsca")
	require.NoError(t, os.Chmod(l.file("users/viewer/viewer.creds"), 0o644))
	err = l.ask(l.credentials("users/viewer/viewer.creds"))
	require.ErrorIs(t, err, safefile.ErrUnsafe)
	require.ErrorContains(t, err, "run chmod go= ")
}

// Whoever meets a certificate that has expired says whose it is, since when, and which file it is
// if that is here. To rotate mends it, though no server can be reached before the new certificates
// are in force.
func TestCertificatesThatHaveExpired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		age  int // years
		want []string
	}{
		{2, []string{`its certificate, of "a", has expired at `, "nats-server --signal reload"}},
		{11, []string{
			`the authority "weft fabric lab" of our file `,
			`ca.pem, which signs all certificates, has expired at `,
		}},
	} {
		t.Run(fmt.Sprint(c.age, " years"), func(t *testing.T) {
			t.Parallel()
			l := newLabAt(t, time.Now().AddDate(-c.age, 0, 0))
			err := l.ask(l.credentials("users/viewer/viewer.creds"))
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.ErrorContains(t, err, "fabricd auth rotate makes ")
			agent := bus.Credentials{CredsFile: l.file("hosts/a/agent.creds"), TLSCA: l.file("hosts/a/ca.pem")}
			if c.age == 2 {
				require.ErrorContains(t, l.ask(agent),
					`its certificate, of "a", the file `+l.file("hosts/a/cert.pem")+`, has expired at `)
			}
			_, err = l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Force: true})
			require.ErrorContains(t, err, "has expired at ")
			require.ErrorContains(t, err,
				"there are new certificates now in hosts/a, leader: copy them, have the servers reload")
			l.servers[0].Kill()
			l.servers[0].Start()
			out, err := l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Force: true, Wait: 100 * time.Millisecond})
			require.NoError(t, err)
			require.Empty(t, out.Certificates, "they are new")
			require.ErrorIs(t, l.ask(l.credentials("users/viewer/viewer.creds")), reply.ErrNobody)
		})
	}
}

// Who leads gives its hosts new credentials before the old ones are revoked: their links come back
// by themselves.
func TestRotationRenewsHosts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	l := newLab(t, natstest.Newest)
	leader := l.run("leader/leader.creds", "leader/signing.nk")
	peers,
		err := bus.Dial(bus.ClientConfig{
		Leads: true, Fabric: "lab", URL: l.url,
		Credentials: bus.Credentials{CredsFile: leader.file, TLSCA: l.file("ca.pem")},
	})
	require.NoError(t, err)
	defer peers.Close()
	leader.took = func(ctx context.Context, taken *bus.Taken) {
		for i, name := range []string{"west", "east"} {
			if err := peers.RenewHost(ctx, bus.HostAccess{Host: name, First: i, N: 1}, leader.issuer); err != nil {
				taken.Missed = append(taken.Missed, name+": "+err.Error())
			} else {
				taken.Hosts++
			}
		}
	}
	west := l.part(leader, "west", 0)
	east := l.part(leader, "east", 1)
	d := wire.Direction{From: "s0", FromPort: 1, To: "s1"}
	inbox := make(chan wire.Message, 1000)
	require.NoError(t, east.Listen(d, inbox))
	require.NoError(t, east.Ready(t.Context()))
	sender, err := west.Sender(d)
	require.NoError(t, err)
	carries := func() bool {
		_ = sender.Send([]byte("x")) // it fails while the connection is opened again
		select {
		case <-inbox:
			return true
		case <-time.After(20 * time.Millisecond):
			return false
		}
	}
	rig.Until(t, carries)
	for range 2 {
		lost := make(chan struct{}, 100)
		west.Watch(func(e wire.Event) {
			if e.Kind == wire.EventDisconnected {
				lost <- struct{}{}
			}
		})
		out, err := l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Wait: time.Second, Force: true})
		require.NoError(t, err)
		renewed := out.Renewed[slices.IndexFunc(out.Renewed, func(r auth.Renewed) bool { return r.User == "fabric" })]
		require.Equal(t, [2]int{2, 2}, [2]int{renewed.Hosts, renewed.Parts}, "%v", renewed.Missed)
		<-lost // the old ones hold no more
		rig.Until(t, carries)
	}
	// A host that is frozen gets none, and then nothing is revoked unless that is forced.
	leader.took = func(_ context.Context, taken *bus.Taken) { taken.Missed = []string{"west: it does not answer"} }
	rig.Until(t, func() bool { // the leader's connection, too, is opened again
		_, err = l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Wait: time.Second})
		return err == nil || !strings.Contains(err.Error(), "nobody leads the fabric")
	})
	require.ErrorContains(t, err, "no new credentials for host west: it does not answer: the old ones hold for everybody")
	require.True(t, carries())
}

func TestAnAgentsFolderSaysWhichFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := newLab(t, natstest.Newest)
	at, err := bus.Settings{Server: l.url, Auth: l.file("hosts/a")}.Resolve(func(string) string { return "" })
	require.NoError(t, err)
	folder, err := auth.Use(at, "")
	require.NoError(t, err)
	require.Nil(t, folder.Issuer())
	renewal, err := folder.KeepRenewed(nil, nil)
	require.NoError(t, err)
	defer renewal.Close()
	out, err := l.dir.Rotate(t.Context(), auth.RotateOptions{URL: l.url, Wait: time.Second, Force: true})
	require.NoError(t, err)
	require.Equal(t, []auth.Renewed{{User: "agent-a"}}, out.Renewed)
}
