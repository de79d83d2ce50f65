package bus_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

type row struct{ subject, publish, hear string }

// The matrix of permissions: who may publish on a subject and who may hear it, by kind of
// credentials. Everybody else is refused.
//
//	fabric operator viewer manager renewer   the users of these names; fabric is who leads
//	agent                                    of host a
//	host                                     west, with shards 4 and 5
//	switch                                   s1 of the line s0-s1-s2, as a process of its own, in a fabric of two shards
//	system                                   who tells servers of accounts
var matrix = []row{
	{"weft.lab.l.4.0.s0_1.2", "fabric host", "fabric operator viewer"}, // a host's own link
	{"weft.lab.l.5.4.s0_1.2", "fabric host", "fabric operator viewer host"},
	{"weft.lab.l.0.4.s0_1.2", "fabric", "fabric operator viewer host"}, // towards it
	{"weft.lab.l.0.5.s0_1.2", "fabric", "fabric operator viewer host"},
	{"weft.lab.l.*.4.>", "", "fabric operator viewer host"},
	{"weft.lab.l.*.6.>", "", "fabric operator viewer"},
	{"weft.lab.l.6.7.s9.0", "fabric", "fabric operator viewer"},      // of others
	{"weft.lab.l.6.4.s9.0", "fabric", "fabric operator viewer host"}, // in the name of another, to it
	{"weft.lab.l.6.8.s9.0", "fabric", "fabric operator viewer"},
	{"weft.lab.l.4.7.s9.0", "fabric host", "fabric operator viewer"},  // its own, to another
	{subjectOf(hop(1), 2), "fabric switch", "fabric operator viewer"}, // a switch's own
	{subjectOf(hop(0), 2), "fabric", "fabric operator viewer switch"}, // towards it
	{subjectOf(hop(0).Reverse(), 2), "fabric switch", "fabric operator viewer"},
	{subjectOf(hop(1).Reverse(), 2), "fabric", "fabric operator viewer switch"},
	{subjectOf(hop(2), 2), "fabric", "fabric operator viewer"}, // of another
	{"weft.lab.l.>", "", "fabric operator viewer"},             // all
	{"weft.lab.l.0.1.~.0", "fabric", "fabric operator viewer"}, // hellos of many links
	{"weft.lab.l.4.5.~.0", "fabric host", "fabric operator viewer host"},
	{"weft.lab.ctl.cut", "fabric operator", "fabric"}, // orders
	{"weft.lab.ctl.apply", "fabric operator", "fabric"},
	{"weft.lab.ctl.get.status", "fabric operator viewer manager", "fabric"}, // questions
	{"weft.lab.ctl.get", "fabric operator", "fabric"},                       // is none
	{"weft.lab.mgr.load", "fabric manager", "fabric"},                       // tables
	{"weft.lab.ev.link", "fabric", "fabric operator viewer manager"},        // events
	{"weft.lab.sw.west.do.sum", "fabric", "fabric host"},                    // a host is asked
	{"weft.lab.sw.west.tell.seen", "fabric host", "fabric"},                 // and tells
	{"weft.lab.sw.s1.do.sum", "fabric", "fabric switch"},
	{"weft.lab.sw.s1.tell.seen", "fabric switch", "fabric"},
	{"weft.lab.sw.s9.do.sum", "fabric", "fabric"}, // others
	{"weft.lab.sw.s9.tell.seen", "fabric", "fabric"},
	{"weft.lab.sw.*.do.>", "", "fabric"},
	{"weft.lab.auth.agent-a.offer", "fabric renewer", "fabric agent"}, // new credentials
	{"weft.lab.auth.agent-a.take.x", "fabric renewer", "fabric agent"},
	{"weft.lab.auth.agent-b.take.x", "fabric renewer", "fabric"},
	{"weft.lab.auth.manager.offer", "fabric renewer", "fabric manager"},
	{"weft.lab.auth.viewer.offer", "fabric renewer", "fabric viewer"},
	{"weft.lab.auth.operator.take.x", "fabric renewer", "fabric operator"},
	{"weft.lab.auth.fabric.offer", "fabric renewer", "fabric"},
	{"weft.lab.auth.host.offer", "fabric renewer", "fabric"},
	{"weft.lab.auth.>", "", "fabric"},
	{"weft.agent.a.host", "fabric agent", "agent"}, // agents
	{"weft.agent.b.host", "fabric", ""},
	{"weft.agent.b.parts", "fabric", ""},
	{"weft.agent.>", "", ""},
	{"$SRV.PING", "", "fabric agent host switch"}, // and how whoever answers is found
	{"$SRV.INFO", "", "fabric agent host switch"},
	{"$SRV.STATS", "", "fabric agent host switch"},
	{"$SRV.PING.weft-fabric", "", "fabric"},
	{"$SRV.PING.weft-fabric.x1", "", "fabric"},
	{"$SRV.INFO.weft-fabric", "operator viewer manager", "fabric"},
	{"$SRV.INFO.weft-fabric.x1", "", "fabric"},
	{"$SRV.STATS.weft-fabric", "", "fabric"},
	{"$SRV.STATS.weft-fabric.x1", "", "fabric"},
	{"$SRV.PING.weft-host", "", "host switch"},
	{"$SRV.PING.weft-host.x1", "", "host switch"},
	{"$SRV.INFO.weft-host", "", "host switch"},
	{"$SRV.INFO.weft-host.x1", "", "host switch"},
	{"$SRV.STATS.weft-host", "", "host switch"},
	{"$SRV.STATS.weft-host.x1", "", "host switch"},
	{"$SRV.PING.weft-agent", "fabric agent", "agent"},
	{"$SRV.PING.weft-agent.x1", "fabric agent", "agent"},
	{"$SRV.INFO.weft-agent.x1", "fabric agent", "agent"},
	{"$SRV.STATS.weft-agent", "fabric agent", "agent"},
	{"$SRV.SCHEMA.weft-agent", "", ""},
	{"$SRV.INFO.weft-agent", "fabric agent", "agent"},
	{"$SRV.STATS.weft-agent.x1", "fabric agent", "agent"},
	{"$SRV.INFO.other", "", ""},
	{"$SRV.>", "", ""},
	{"$KV.weft-lab.leader", "fabric manager", ""}, // what is kept
	{"$KV.weft-other.leader", "", ""},
	{"$KV.weft-lab-2.leader", "", ""},
	{"$KV.>", "", ""},
	{"weft-work.5be0d3700f5e", "fabric agent", ""}, // jobs
	{"$KV.weft-jobs.order.5be0d3700f5e", "fabric agent", ""},
	{"$O.weft-jobs.C.x", "fabric agent", ""},
	{"$JS.API.STREAM.CREATE.weft-work", "fabric agent", ""},
	{"$JS.API.STREAM.MSG.GET.weft-work", "fabric agent", ""},
	{"$JS.API.CONSUMER.CREATE.weft-work.c.x", "fabric agent", ""},
	{"$JS.API.STREAM.CREATE.KV_weft-jobs", "fabric agent", ""},
	{"$JS.API.STREAM.MSG.GET.KV_weft-jobs", "fabric agent", ""},
	{"$JS.API.CONSUMER.CREATE.KV_weft-jobs.c.x", "fabric agent", ""},
	{"$JS.API.STREAM.CREATE.OBJ_weft-jobs", "fabric agent", ""},
	{"$JS.API.STREAM.MSG.GET.OBJ_weft-jobs", "fabric agent", ""},
	{"$JS.API.CONSUMER.CREATE.OBJ_weft-jobs.c.x", "fabric agent", ""},
	{"$JS.API.CONSUMER.MSG.NEXT.weft-work.c", "fabric agent", ""},
	{"$JS.API.CONSUMER.MSG.NEXT.KV_weft-jobs.c", "fabric agent", ""},
	{"$JS.API.DIRECT.GET.KV_weft-jobs.$KV.weft-jobs.x", "fabric agent", ""},
	{"$JS.API.DIRECT.GET.OBJ_weft-jobs.$O.weft-jobs.M.x", "fabric agent", ""},
	{"$JS.ACK.weft-work.c.1.1.1.0.0", "fabric agent", ""},
	{"$JS.FC.KV_weft-jobs.c.x", "fabric agent", ""},
	{"$JS.FC.OBJ_weft-jobs.c.x", "fabric agent", ""},
	{"$JS.API.INFO", "fabric manager agent", ""},
	{"$JS.API.STREAM.INFO.KV_weft-lab", "fabric manager", ""},
	{"$JS.API.STREAM.CREATE.KV_weft-lab", "fabric manager", ""},
	{"$JS.API.STREAM.UPDATE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.MSG.GET.KV_weft-lab", "fabric manager", ""},
	{"$JS.API.DIRECT.GET.KV_weft-lab.$KV.weft-lab.leader", "fabric manager", ""},
	{"$JS.API.DIRECT.GET.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.DELETE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.INFO.KV_weft-other", "", ""},
	{"$JS.API.STREAM.UPDATE.KV_weft-other", "", ""},
	{"$JS.API.STREAM.MSG.GET.KV_weft-other", "", ""},
	{"$JS.API.DIRECT.GET.KV_weft-other.$KV.weft-other.leader", "", ""},
	{"$JS.API.STREAM.PURGE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.MSG.DELETE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.SNAPSHOT.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.RESTORE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.LEADER.STEPDOWN.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.PEER.REMOVE.KV_weft-lab", "", ""},
	{"$JS.API.STREAM.LIST", "", ""},
	{"$JS.API.STREAM.NAMES", "", ""},
	{"$JS.API.CONSUMER.CREATE.KV_weft-lab.c.$KV.weft-lab.leader", "", ""},
	{"$JS.API.CONSUMER.LIST.KV_weft-lab", "", ""},
	{"$JS.API.META.LEADER.STEPDOWN", "", ""},
	{"$JS.API.SERVER.REMOVE", "", ""},
	{"$JS.ACK.KV_weft-lab.c.1.1.1.0.0", "", ""},
	{"$JS.FC.KV_weft-lab.c.x", "", ""},
	{"$JS.EVENT.ADVISORY.STREAM.DELETED.KV_weft-lab", "", ""},
	{"$JS.M.x", "", ""}, // mirrors and sources
	{"$JS.API.STREAM.CREATE.mine", "", ""},
	{"$JS.API.CONSUMER.CREATE.KV_weft-lab", "", ""},
	{"$JS.API.>", "", ""},
	{"_INBOX.weft-fabric.k.west.7", "fabric agent host", "fabric"}, // answers
	{"_INBOX.weft-fabric.k.s1.7", "fabric agent switch", "fabric"},
	{"_INBOX.weft-fabric.k.s9.7", "fabric agent", "fabric"},
	{"_INBOX.weft-operator.x", "fabric", "operator"},
	{"_INBOX.weft-viewer.x", "fabric", "viewer"},
	{"_INBOX.weft-manager.x", "fabric", "manager"},
	{"_INBOX.weft-renewer.x", "fabric agent manager operator viewer", "renewer"},
	{"_INBOX.weft-agent.a.x", "fabric agent", "agent"},
	{"_INBOX.weft-agent.b.x", "fabric agent", ""},
	{"_INBOX.weft-system.x", "fabric", "system"}, // in another account
	{"_INBOX.weft-host-east-X.x", "fabric", ""},
	{"_INBOX.x", "fabric", ""},
	{"_INBOX.>", "", ""},
	{"$SYS.REQ.CLAIMS.UPDATE", "system", ""}, // servers
	{"$SYS.REQ.SERVER.PING", "system", ""},
	{"$SYS.REQ.CLAIMS.DELETE", "", ""},
	{"$SYS.REQ.SERVER.PING.CONNZ", "", ""},
	{"$SYS.REQ.ACCOUNT.PING.CONNZ", "", ""},
	{"$SYS.REQ.USER.INFO", "", ""}, // services that every account has
	{"$SYS.REQ.ACCOUNT.ACDC.CLAIMS.LOOKUP", "", ""},
	{"$SYS.REQ.CLAIMS.PACK", "", ""},
	{"$SYS.REQ.SERVER.x.RELOAD", "", ""},
	{"$SYS.ACCOUNT.ACDC.CONNECT", "", ""},
	{"$SYS.ACCOUNT.ACDC.CLAIMS.UPDATE", "", ""},
	{"$NRG.V.x", "", ""}, // servers that choose who keeps the store
	{"_R_.x", "", ""},    // answers over accounts
	{"$SYS.>", "", ""},
	{"weft.other.ctl.cut", "", ""}, // another fabric
	{"weft.other.l.4.0.s0.1", "", ""},
	{"weft.other.ev.link", "", ""},
	{"weft.other.mgr.load", "", ""},
	{"weft.other.sw.west.do.sum", "", ""},
	{"weft.other.sw.west.tell.seen", "", ""},
	{"weft.other.auth.manager.offer", "", ""},
	{"weft.>", "", ""},
	{"something.else", "", ""},
	{">", "", ""},
}

// Whatever anybody is granted has a row that says so, and so has every kind of subject: a class of
// subjects that is new to the code fails here until it is in the matrix, for everybody.
func TestTheMatrixHasARowForEveryGrant(t *testing.T) {
	t.Parallel()
	for who, g := range bus.AllGrants("lab", "a", bus.HostAccess{Host: "west", First: 4, N: 2}, access()) {
		for verb, patterns := range map[string][]string{"publish": g.Publish, "hear": g.Subscribe} {
			require.True(t, verb == "hear" || len(patterns) > 0, "%s may publish nothing: servers take that for anything", who)
			for _, pattern := range patterns {
				require.True(t, slices.ContainsFunc(matrix, func(r row) bool {
					who := slices.Contains(strings.Fields(map[string]string{"publish": r.publish, "hear": r.hear}[verb]), who)
					return who && server.SubjectsCollide(r.subject, pattern) && !strings.HasSuffix(r.subject, ".>")
				}), "%s may %s %s: the matrix says nothing of it", who, verb, pattern)
			}
		}
	}
	kinds := map[bus.SubjectKind]bool{}
	for _, r := range matrix {
		if s, err := bus.ParseSubject(r.subject); err == nil {
			kinds[s.Kind] = true
		}
	}
	for _, k := range bus.AllKinds() {
		require.True(t, kinds[k], "kind %d of subjects has no row", k)
	}
}

// tryMatrix tries every row with a connection, and returns how much that were.
func tryMatrix(t *testing.T, who string, conn *nats.Conn) int {
	t.Helper()
	publish, hear := map[string]bool{}, map[string]bool{}
	for _, row := range matrix {
		if !strings.ContainsAny(row.subject, "*>") { // nobody can publish on a wildcard
			publish[row.subject] = slices.Contains(strings.Fields(row.publish), who)
		}
		hear[row.subject] = slices.Contains(strings.Fields(row.hear), who)
	}
	probe(t, conn, who, publish, hear)
	return len(publish) + len(hear)
}

func TestPermissionsOnOurBroker(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	b := bustest.Broker(t, bus.BrokerConfig{StoreDir: t.TempDir()})
	attempts := 0
	// That of the fabric itself may publish anything, see StartBroker; what it hears
	// TestBrokerPermissions tries.
	for _, r := range []bus.Role{bus.RoleOperator, bus.RoleViewer, bus.RoleManager} {
		attempts += tryMatrix(t, r.String(), login(t, b, b.Credentials(r), nats.ErrorHandler(quiet)))
	}
	host, err := b.Admit(bus.HostAccess{Host: "west", First: 4, N: 2})
	require.NoError(t, err)
	attempts += tryMatrix(t, "host", login(t, b, host, nats.ErrorHandler(quiet)))
	attempts += tryMatrix(t, "switch", login(t, b, admit(t, b, access()), nats.ErrorHandler(quiet)))
	attack.Count(t, "every kind of credentials at every subject, our broker", attempts)
}

func TestPermissionsOnServersThatTrustTheFolderOfKeys(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			dir, port := filepath.Join(t.TempDir(), "keys"), rig.FreePort(t)
			file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			d, _, err := auth.Init(auth.Options{
				Fabric: "lab", Dir: dir, Hosts: []auth.Host{{Name: "a", Address: "127.0.0.1"}},
				ClientPort: port,
			})
			require.NoError(t, err)
			require.NoError(t, d.Close())
			server := natstest.StartIn(t, release, file("hosts/a"), "127.0.0.1", port)
			connect := func(inbox string, how nats.Option) *nats.Conn {
				conn := dialsUntil(t, nil, server.URL, how, nats.RootCAs(file("ca.pem")), nats.CustomInboxPrefix(inbox),
					nats.ErrorHandler(quiet))
				t.Cleanup(conn.Close)
				return conn
			}
			attempts := 2 // without credentials, below
			for who, creds := range map[string]string{
				"fabric": "leader/leader.creds", "operator": "users/operator/operator.creds", "viewer": "users/viewer/viewer.creds",
				"manager": "users/manager/manager.creds", "agent": "hosts/a/agent.creds",
				"renewer": "keys/renewer.creds",
				"system":  "keys/system.creds",
			} {
				inbox := "_INBOX.weft-" + who
				if who == "agent" {
					inbox += ".a"
				}
				attempts += tryMatrix(t, who, connect(inbox, nats.UserCredentials(file(creds))))
			}
			leader, err := bus.OpenIdentity(file("leader/leader.creds"))
			require.NoError(t, err)
			key, err := bus.ReadKey(file("leader/signing.nk"))
			require.NoError(t, err)
			issuer, err := bus.NewIssuer("lab", leader, key)
			require.NoError(t, err)
			host, err := issuer.Admit(bus.HostAccess{Host: "west", First: 4, N: 2})
			require.NoError(t, err)
			attempts += tryMatrix(t, "host", connect(host.InboxPrefix, nats.UserJWTAndSeed(host.JWT, host.Seed)))
			one, err := issuer.Admit(access())
			require.NoError(t, err)
			attempts += tryMatrix(t, "switch", connect(one.InboxPrefix, nats.UserJWTAndSeed(one.JWT, one.Seed)))

			// nobody is let in without credentials
			dialsUntil(t, nats.ErrAuthorization, server.URL, nats.RootCAs(file("ca.pem")))
			dialsUntil(t, nats.ErrAuthorization, server.URL, nats.RootCAs(file("ca.pem")), nats.UserInfo("fabric", "x"))
			attack.Count(t, "every kind of credentials at every subject, other servers, each release", attempts)
		})
	}
}

// dialsUntil connects to a server until that ends with want. Servers give a client two seconds for
// its handshake, which a busy machine may not have.
func dialsUntil(t *testing.T, want error, url string, options ...nats.Option) (conn *nats.Conn) {
	t.Helper()
	var err error
	rig.Until(t, func() bool {
		conn, err = nats.Connect(url, append(options, nats.Timeout(rig.Patience))...)
		return errors.Is(err, want)
	}, "a connection to %s ends with: %v", url, want)
	return conn
}
