package remote_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// moved opens a host of one switch of another host, under the name of the switch.
func (r *testbed) moved(id weft.SwitchID, number uint64, epoch weft.Epoch) *Remote {
	r.Helper()
	c := r.Hosts["west"].Spec
	if int(id)%2 == 1 {
		c = r.Hosts["east"].Spec
	}
	c.Host, c.Number, c.Epoch = r.Graph.Name(id.Node()), number, epoch
	c.Placement = host.Placement{
		Host: c.Host, Switches: host.Spans([]weft.SwitchID{id}), Shard: c.Placement.Shard, Shards: c.Placement.Shards,
		Shared: true,
	}
	l := r.Open(c)
	delete(r.Hosts, c.Host) // the testbed's own sums know nothing of moves
	return l
}

// A moved switch that was written off and wakes up while another process is the switch, under the
// same name, answers nothing in its place, and ends.
func TestAMovedSwitchThatWasReplacedIsSilentAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	old := r.moved(1, 7, 0)
	_, err := old.Counters(context.Background(), host.CountersRequest{Number: 6})
	require.ErrorContains(t, err, host.ErrIncarnation.Error(), "who asks for one of before is told so")
	now := r.moved(1, 8, 0)
	for range 50 {
		s, err := now.Counters(context.Background(), host.CountersRequest{Number: 8})
		require.NoError(t, err)
		require.Equal(t, uint64(8), s.Number)
	}
	now.Do(host.Order{})
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	_, err = old.Server.Wait(ctx)
	require.ErrorIs(t, err, remote.ErrLater)
	require.NoError(t, old.Server.Close())
	_, err = now.Counters(context.Background(), host.CountersRequest{Number: 8})
	require.NoError(t, err)
}

// guardedServer is a server that trusts a folder of keys, as fabricd auth makes it: who leads makes
// tokens for hosts.
func guardedServer(t *testing.T) Access {
	dir, port := filepath.Join(t.TempDir(), "keys"), rig.FreePort(t)
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	d, _, err := auth.Init(auth.Options{
		Fabric: "lab", Dir: dir, Hosts: []auth.Host{{Name: "a", Address: "127.0.0.1"}}, ClientPort: port,
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	s := natstest.StartIn(t, natstest.Newest, file("hosts/a"), "127.0.0.1", port)
	leader, err := bus.OpenIdentity(file("leader/leader.creds"))
	require.NoError(t, err)
	key, err := bus.ReadKey(file("leader/signing.nk"))
	require.NoError(t, err)
	issuer, err := bus.NewIssuer("lab", leader, key)
	require.NoError(t, err)
	return Access{
		URL: s.URL, Authorizer: issuer,
		Leader: bus.Credentials{CredsFile: file("leader/leader.creds"), TLSCA: file("ca.pem")},
		Agents: bus.Credentials{CredsFile: file("hosts/a/agent.creds"), TLSCA: file("ca.pem")},
	}
}

// A moved switch carries the packets of a switch in its place, whichever shards its home has and
// however processes come onto the broker, with leave for no more than that switch.
func TestAMovedSwitchOnAnAgentReachesItsNeighbours(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(t *testing.T) Access{
		"tokens": guardedServer,
		"passwords": func(t *testing.T) Access {
			s := natstest.Start(t, natstest.Newest, `authorization { user: hosts, password: "a secret of hosts" }`)
			c := bus.Credentials{User: "hosts", Password: "a secret of hosts"}
			return Access{URL: s.URL, Leader: c, Agents: c}
		},
		"our broker": func(t *testing.T) Access { return embedded(t) },
	} {
		for _, sw := range []string{"s0.0", "s1.1"} { // of west, with one shard, and of east, with two
			t.Run(name+"/"+sw, func(t *testing.T) {
				t.Parallel()
				if name != "tokens" || sw != "s1.1" {
					testenv.Long(t)
				}
				r := newRigAt(t, at(t), "kary-ntree:2,2", "deterministic-link", nil)
				id, err := r.Graph.SwitchByName(sw)
				require.NoError(t, err)
				m := newMover(r, id)
				r.start("uniform:0.05")
				m.delivered(200)
				one := r.moved(id, 3, lifetime)
				m.add(one)
				m.move(one)
				m.delivered(200)
				if name == "tokens" {
					before := epochs(one)
					require.NoError(t, r.Admission().Renew(t.Context(), &one.Spec, r.Graph))
					one.Relay.Drop()
					rig.Until(t, func() bool { return epochs(one) > before }, "it comes back with its new token")
					m.delivered(200)
				}
				m.move(m.home)
				m.delivered(200)
				r.traffic("none")
				var s ledger.Balance
				rig.Until(t, func() bool { s = m.balance(); return s.Balanced && s.InFlight == 0 }, "%+v", &s)
				if name != "tokens" { // else its connection was lost on the way
					require.Zero(t, s.Lost, "%+v", s)
				}
			})
		}
	}
}

// A moved switch on other shards than those of its home would speak where its neighbours do not
// hear it.
func TestAMovedSwitchOnOtherShardsIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	c := r.Hosts["east"].Spec
	c.Host = "s0.1"
	for _, shards := range [][2]int{{0, 2}, {10, 1}} {
		c.Placement = host.Placement{
			Host: c.Host, Switches: host.Spans([]weft.SwitchID{1}), Shard: shards[0], Shards: shards[1], Shared: true,
		}
		_, err := remote.Open(t.Context(), remote.Config{Spec: c, URL: r.URL})
		require.ErrorContains(t, err, "which are not those of its switch")
	}
}
