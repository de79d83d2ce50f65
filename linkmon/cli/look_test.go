package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTheFabricOfAServerNeedsNoNameWhileItIsTheOnlyOne(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	v := b.Credentials(bus.RoleViewer)
	status := []string{
		"--server", b.ClientURL(), "--user", v.User, "--password", v.Password, "--inbox-prefix",
		v.InboxPrefix, "status",
	}
	refused := func(want string) {
		t.Helper()
		_, errs, code := linkmon(t, status...)
		require.Equal(t, 2, code)
		require.Equal(t, "linkmon: "+want+"\n", errs)
	}
	refused("no fabric is running at this server: start one there, or name one that does not answer with --fabric")
	serve := func(name string, c bus.ServerConfig) {
		c.Fabric = name
		require.NoError(t, bus.Handle(bustest.Server(t, c), bus.Subject{Kind: bus.SubjectControl, Verb: api.VerbStatus},
			func(context.Context, struct{}) (api.Status, error) { return api.Status{Name: name}, nil }))
	}
	serve("lab", bus.ServerConfig{Broker: b})
	require.Regexp(t, `^fabric +lab, `, ok(t, status...))

	// Servers that are not ours may have several.
	url := natstest.Start(t, natstest.Newest).URL
	status = []string{"--server", url, "status"}
	for _, name := range []string{"right", "left"} {
		serve(name, bus.ServerConfig{URL: url})
	}
	refused("2 fabrics are running, say which with --fabric: left, right")
	require.Regexp(t, `^fabric +right, `, ok(t, append(status, "--fabric", "right")...))
	granted := natstest.Start(t, natstest.Newest,
		`authorization { users = [{user: a, password: b, permissions: {publish: ["weft.lab.>"], subscribe: [">"]}}] }`).URL
	status = []string{"--server", granted, "--user", "a", "--password", "b", "status"}
	refused("which fabric of the server? name it with --fabric: bus: look for weft-fabric at " + granted +
		": user a: not permitted")
}

func TestStatusShowsWhatIsWithheldOnceThereAreNotices(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab", harness.Notices(time.Hour), harness.Traffic("uniform:0.3"))
	h.Cut("s0.0", "s1.0")
	h.Cut("s0.1", "s1.0")
	h.Eventually(func() error {
		if n := h.Fabric().Totals().Withheld; n == 0 {
			return errors.New("nothing is withheld")
		}
		return nil
	})
	require.Regexp(t, `withheld +\d+ packets for destinations that \d+ notices said cannot be reached\n`, ok(t, "status"))
}

func TestStatusSaysThatMoreIsOfferedThanCarried(t *testing.T) {
	t.Parallel()
	const over = "more is offered than carried: of 130000 packets a second, 48000 leave the fabric"
	var out strings.Builder
	require.NoError(t, writeStatus(&out, api.Status{Sample: api.Sample{Overload: over}}))
	require.Equal(t, `fabric    , , 0 switches, 0 NICs, 0 links
routing   
traffic   
rate      0 delivered/s, 0 injected/s
overload  `+over+`
packets   0 injected, 0 delivered, 0 lost, 0 discarded, 0 in flight
latency   p50 0 us, p99 0 us, max 0 us
paths     0.000 switches on average, stretch 0.0000, 0 rerouted, 0 U-turns, 0 out of order
refused   0 packets at full send queues
cut       none
impaired  none
crashed   none
`, out.String())
}

func TestStatusSaysWhatAPacketWaitsFor(t *testing.T) {
	t.Parallel()
	const waits = "a packet from n1 to n2 has waited 2.0 s in s0 for room at s1"
	var out strings.Builder
	require.NoError(t, writeStatus(&out,
		api.Status{Sample: api.Sample{Overload: "more is offered than carried", Waiting: waits}}))
	require.Contains(t, out.String(), "\noverload  more is offered than carried\nwaiting   "+waits+"\n")
}

func TestDetailsOfALinkBesideAProcessThatDoesNotAnswer(t *testing.T) {
	l := fabric.LinkState{State: fabric.LinkComing, A: "s0.0", B: "s1.0", BUp: true, Suspect: []string{"s1.0"}}
	require.Equal(t, "s1.0 does not answer; s0.0 sees it down", l.Details(), "what s1.0 last said is not so any more")
	l.Suspect = []string{"s0.0", "s1.0"}
	require.Equal(t, "s0.0 does not answer; s1.0 does not answer", l.Details())
	require.Equal(t, []string{"s1.0 is process 7 on lab", "s1.1 is process 8 on lab and does not answer"},
		processes([]fabric.SwitchProcess{
			{Switch: "s1.0", PID: 7, Host: "lab", Answers: true}, {Switch: "s1.1", PID: 8, Host: "lab"},
		}))
}

func TestTheSecondLineOfAnEventIsBelowItsText(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	ok(t, "cut", "s0.0", "s1.0")
	ok(t, "cut", "s0.1", "s1.0")
	require.Regexp(t, `(?m)^ +\d+\.\d{3}s  cut s0.1-s1.0 at .*\n {13}.*shared with fault 1, counted at the same time$`,
		ok(t, "events"))
}

func TestEventsTellWhatHappenedInOrder(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	ok(t, "cut", "s0.0", "s1.0")
	ok(t, "restore", "s0.0", "s1.0")
	text := ok(t, "events")
	require.Regexp(t, `^ +\S+s  traffic uniform:0.1\n +\S+s  cut s0.0-s1.0 at .*\n(?: {13}.*\n)?`+
		` +\S+s  restored s0.0-s1.0\n$`, text, "the cut's second line says what the fabric did meanwhile, if anything")
	require.Regexp(t, `\n +\S+s  link_down s0.0-s1.0 seen by s1.0\n`, ok(t, "events", "--details"))

	lines := bufio.NewScanner(strings.NewReader(ok(t, "events", "--json", "--after", "1")))
	seq := uint64(1)
	for lines.Scan() {
		var e fabric.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		seq++
		require.Equal(t, seq, e.Seq)
		require.NotEmpty(t, e.Kind)
	}
	require.GreaterOrEqual(t, seq, uint64(7))
}

func TestEventsFollowsUntilInterrupted(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	out, stop := background(t, "events", "--follow")
	out.Await(t, "traffic")
	ok(t, "cut", "s0.0", "s1.0")
	out.Await(t, "cut s0.0-s1.0 at")
	ok(t, "heal", "--all")
	out.Await(t, "restored s0.0-s1.0")
	require.Zero(t, stop())
}

func TestWatchShowsASampleEverySecondUntilInterrupted(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	start(t, "lab")
	text, stopText := background(t, "watch")
	lines, stopLines := background(t, "top", "--json")
	text.Await(t, "links down 0\n")
	lines.Await(t, "}\n")
	require.Zero(t, stopText())
	require.Zero(t, stopLines())
	first, _, _ := strings.Cut(lines.String(), "\n")
	var s map[string]any
	require.NoError(t, json.Unmarshal([]byte(first), &s))
	for _, field := range []string{
		"at", "injected_per_second", "delivered_per_second", "in_flight", "lost", "discarded",
		"rerouted", "links_down",
	} {
		require.Contains(t, s, field)
	}
	var sample api.Sample
	require.NoError(t, json.Unmarshal([]byte(first), &sample))
	require.Positive(t, sample.At)
}
