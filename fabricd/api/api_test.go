package api

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMain(m *testing.M) {
	testenv.MostlyWaits()
	goleak.VerifyTestMain(m)
}

// askNone asks, and drops the answer.
func askNone(ctx context.Context, c *Client, verb string, in any) error {
	_, err := ask[none](ctx, c, verb, in)
	return err
}

// served is a small fabric with its server.
type served struct {
	*harness.Harness
	t      testing.TB
	broker *bus.Broker
	server *Server
}

// serve starts it, without hellos unless options say otherwise: on a busy machine they could fail,
// and tests count events.
func serve(t testing.TB, options ...harness.Option) *served {
	t.Helper()
	return serveTopology(t, "kary-ntree:2,2", options...)
}

func serveTopology(t testing.TB, topology string, options ...harness.Option) *served {
	t.Helper()
	h := harness.New(t, topology, append([]harness.Option{harness.NoLiveness()}, options...)...)
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: b})
	s, err := NewServer(h.Fabric(), control, Info{Name: "lab", Routing: "adaptive-link", Started: time.Now()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, func(Sample) {}) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return &served{h, t, b, s}
}

func (s *served) dial(act bool) *Client {
	s.t.Helper()
	c, err := Dial(s.entry(), "test", act)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

func (s *served) entry() registry.Entry {
	return registry.Entry{
		Listed:   registry.Listed{Name: "lab", URL: s.broker.ClientURL()},
		Operator: s.broker.Credentials(bus.RoleOperator), Viewer: s.broker.Credentials(bus.RoleViewer),
	}
}

func (s *served) linkID() weft.LinkID {
	l, err := s.Topology().LinkByName("s0.0-s1.0")
	require.NoError(s.t, err)
	return l.ID
}

func TestAViewerLooksAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(false), t.Context()
	for _, spec := range everyVerb {
		_, err := c.Apply(ctx, spec)
		require.ErrorIs(t, err, reply.ErrDenied, spec)
	}
	_, err := c.SetTraffic(ctx, "uniform:0.1")
	require.ErrorIs(t, err, reply.ErrDenied)
	require.Empty(t, s.Fabric().LinksDown())
	require.Empty(t, s.Fabric().Faults())

	links, err := c.Links(ctx)
	require.NoError(t, err)
	require.Len(t, links, 8)
	raw, err := c.Topology(ctx)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"links":[`)
	st, err := c.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "lab", st.Name)
	sw, err := c.Switch(ctx, "s0.0", true)
	require.NoError(t, err)
	require.Equal(t, "s0.0", sw.ID)
	require.Equal(t, "s1.0", sw.Ports[0].Peer)
	require.Equal(t, "up", sw.Ports[0].State)
	ledger, err := c.Ledger(ctx)
	require.NoError(t, err)
	require.True(t, ledger.Balanced)
}

// everyVerb is an order of each kind.
var everyVerb = []fault.Spec{
	{Do: fault.VerbCut, A: "s0.0", B: "s1.0"},
	{Do: fault.VerbFlap, A: "s0.0-s1.1", Flap: &fault.Flap{Period: fault.Duration(time.Hour)}},
	{Do: fault.VerbImpair, A: "s0.1-s1.0", Impair: &fault.Impair{Loss: new(fault.Percent(10))}},
	{Do: fault.VerbCrash, A: "s1.1"},
	{Do: fault.VerbRestore, A: "s0.0-s1.0"},
	{Do: fault.VerbRestart, A: "s1.1"},
	{Do: fault.VerbHeal},
}

func TestAnOperatorSetsAndRepairsEveryKindOfFault(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(true), t.Context()
	var got []fabric.Outcome
	for _, spec := range everyVerb {
		out, err := c.Apply(ctx, spec)
		require.NoError(t, err, spec)
		require.Len(t, out, 1)
		require.True(t, out[0].Changed, spec)
		require.Equal(t, spec.Do, out[0].Do)
		got = append(got, out[0])
	}
	for i, target := range []string{"s0.0-s1.0", "s0.0-s1.1", "s0.1-s1.0", "s1.1", "s0.0-s1.0", "s1.1", ""} {
		require.Equal(t, target, got[i].Target)
		require.Equal(t, i < 4, got[i].Fault != nil, "a fault has a report, a repair none")
	}
	require.Equal(t, []string{"s0.0-s1.1", "s0.1-s1.0"}, got[6].Healed)
	faults, err := c.Faults(ctx)
	require.NoError(t, err)
	require.Len(t, faults, 4)
	for i, f := range faults {
		require.Equal(t, string(everyVerb[i].Do), f.Kind)
		require.Positive(t, f.RestoredAt)
	}
}

func TestSeveralOrdersAreDoneAtOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(true), t.Context()
	cut := func(a string) fault.Spec { return fault.Spec{Do: fault.VerbCut, A: a} }
	_, err := c.Apply(ctx, cut("s0.0-s1.0"), cut("s0.0-s1.9"), fault.Spec{Do: fault.VerbCrash, A: "s9.9"})
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, `unknown link "s0.0-s1.9"`)
	require.ErrorContains(t, err, `unknown switch "s9.9"`)
	require.Empty(t, s.Fabric().Faults())
	require.Empty(t, s.Fabric().LinksDown())

	out, err := c.Apply(ctx, cut("s0.0-s1.0"), cut("s0.0-s1.1"), cut("s1.0-s0.0"))
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, []bool{out[0].Changed, out[1].Changed, out[2].Changed})
	require.Equal(t, []int{2}, out[0].Fault.SharedWith)
	require.Equal(t, []string{"s0.0-s1.0", "s0.0-s1.1"}, s.Fabric().CutLinks())
}

// Until 0.2.0 an answer has `changed` under its old name, too, and a fabricd may know that one
// alone.
func TestAnOutcomeIsReadUnderItsOldNameAndWrittenUnderBoth(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.dial(true)
	out, err := ask[json.RawMessage](t.Context(), c, VerbApply, ApplyRequest{Specs: everyVerb[:1]})
	require.NoError(t, err)
	require.Contains(t, string(out), `"changed":true,"fresh":true,`)

	older := &served{t: t, broker: bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})}
	control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: older.broker})
	require.NoError(t, bus.Handle(control, ctl(VerbApply), func(context.Context, ApplyRequest) (json.RawMessage, error) {
		return json.RawMessage(`[{"do":"cut","fresh":true},{"do":"cut","fresh":false}]`), nil
	}))
	outcomes, err := older.dial(true).Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, []bool{outcomes[0].Changed, outcomes[1].Changed})
}

// Likewise the status of a fabric has its hosts, and each of them its name, under two names.
func TestHostsAreReadUnderTheirOldNamesAndWrittenUnderBoth(t *testing.T) {
	t.Parallel()
	out, err := ask[json.RawMessage](t.Context(), serve(t).dial(false), VerbStatus, nil)
	require.NoError(t, err)
	require.Contains(t, string(out), `"hosts":[],"parts":[]`)

	older := &served{t: t, broker: bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})}
	control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: older.broker})
	require.NoError(t, bus.Handle(control, ctl(VerbStatus), func(context.Context, struct{}) (json.RawMessage, error) {
		return json.RawMessage(`{"parts":[{"part":"east"},{"part":"west"}]}`), nil
	}))
	require.NoError(t, bus.Handle(control, ctl(VerbLinks), func(context.Context, struct{}) (json.RawMessage, error) {
		return json.RawMessage(`[{"quiet":["s0.0"]}]`), nil
	}))
	links, err := older.dial(false).Links(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"s0.0"}, links[0].Suspect)
	st, err := older.dial(false).Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"east", "west"}, []string{st.Hosts[0].Host, st.Hosts[1].Host})
}

func TestWhateverIsSetIsHealedByAnotherClientWhenTheOneThatSetItIsGone(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	// what a link loses last shows at a hello
	s := serve(t, harness.Traffic("uniform:0.2"), harness.Liveness(50*time.Millisecond, 20))
	for _, spec := range []fault.Spec{
		{Do: fault.VerbCut, A: "s0.0-s1.0"},
		{Do: fault.VerbCut, A: "s0.0-s1.0", Silent: true},
		{Do: fault.VerbCut, A: "s0.0-s1.0", Direction: fault.From},
		{Do: fault.VerbCut, A: "s0.0-s1.0", Direction: fault.To, Silent: true},
		{Do: fault.VerbCut, A: "s0.0-s1.0", For: fault.Duration(time.Hour)},
		{Do: fault.VerbFlap, A: "s0.0-s1.0", Flap: &fault.Flap{Period: fault.Duration(20 * time.Millisecond)}},
		{Do: fault.VerbImpair, A: "s0.0-s1.0", Impair: &fault.Impair{Loss: new(fault.Percent(50))}},
		{Do: fault.VerbCrash, A: "s1.0"},
	} {
		setter := s.dial(true)
		_, err := setter.Apply(t.Context(), spec)
		require.NoError(t, err, spec)
		require.NoError(t, setter.Close())
		healer := s.dial(true)
		links, err := healer.Links(t.Context())
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(links, func(l fabric.LinkState) bool { return !l.Well() }), spec)
		out, err := healer.Apply(t.Context(), fault.Spec{Do: fault.VerbHeal})
		require.NoError(t, err, spec)
		want := "s0.0-s1.0"
		if spec.Do == fault.VerbCrash {
			want = "s1.0"
		}
		require.Equal(t, []string{want}, out[0].Healed)
		links, err = healer.Links(t.Context())
		require.NoError(t, err)
		for _, l := range links {
			require.True(t, l.Well(), "%v: %+v", spec, l)
		}
	}
	s.RequireLedger()
}

func TestOrdersThatCannotBeAreRefusedAndNothingIsDone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.dial(true)
	for _, x := range []struct{ spec, want string }{
		{`{}`, "unknown fault or repair"},
		{`{"do":"cutt","a":"s0.0-s1.0"}`, `unknown fault or repair "cutt": did you mean "cut"?`},
		{`{"do":"cut","a":"s0.0-s1.0","slient":true}`, `unknown field "slient": did you mean "silent"?`},
		{`{"do":"cut","a":"s0.0-s1.0","direction":"form"}`, `unknown direction "form": did you mean "from"?`},
		{`{"do":"cut","a":"s0.0","b":"s0.1"}`, "s0.0 and s0.1 are not linked"},
		{`{"do":"cut"}`, "cut of nothing: name a link"},
		{`{"do":"cut","a":"s0.0-s1.0","for":"-3s"}`, "-3s"},
		{`{"do":"cut","a":"s0.0-s1.0","for":3}`, "3 is not a duration, its unit is missing: write 3s or 3ms"},
		{`{"do":"cut","a":"s0.0-s1.0","impair":{"loss":"1%"}}`, "cut with impair parameters"},
		{`{"do":"crash","a":"s1.0","silent":true}`, "silent crash: its neighbours lose signal when it dies"},
		{`{"do":"crash","a":"s1.0","direction":"to"}`, "only a link has directions"},
		{`{"do":"crash","a":"s0.0-s1.0"}`, `s0.0-s1.0 is a link, not a switch`},
		{`{"do":"flap","a":"s0.0-s1.0"}`, "flap without a period: say how often"},
		{`{"do":"flap","a":"s0.0-s1.0","flap":{"period":"1s","count":-1}}`, "flap with count -1"},
		{`{"do":"flap","a":"s0.0-s1.0","for":"1s","flap":{"period":"1s","count":3}}`, "either ends it, give one"},
		{`{"do":"impair","a":"s0.0-s1.0"}`, "impair without a figure"},
		{`{"do":"impair","a":"s0.0-s1.0","impair":{"loss":0.1}}`, "0.1 is not a percentage: write 10%"},
		{`{"do":"impair","a":"s0.0-s1.0","impair":{"delay":"1ms","jitter":"2ms"}}`, "jitter 2ms is more than the delay"},
		{`{"do":"impair","a":"s0.0-s1.0","impair":{"jitter":"2ms"}}`, "jitter 2ms is more than the delay of 0s"},
		{`{"do":"restore","a":"s0.0-s1.0","for":"10s"}`, "only a fault ends by itself, a repair does not"},
		{`{"do":"heal","a":"s0.0-s1.0"}`, "heal repairs everything"},
	} {
		err := askNone(t.Context(), c, VerbApply, json.RawMessage(`{"specs":[{"do":"cut","a":"s0.1-s1.1"},`+x.spec+`]}`))
		require.ErrorIs(t, err, reply.ErrRefused, x.spec)
		require.ErrorContains(t, err, x.want, x.spec)
	}
	require.ErrorContains(t, askNone(t.Context(), c, VerbApply, json.RawMessage(`{"specs":[]}`)), "nothing is ordered")
	_, err := c.Apply(t.Context(), slices.Repeat(everyVerb[:1], MaxSpecs+1)...)
	require.ErrorContains(t, err, "1025 faults and repairs at once: expected at most 1024")
	require.Empty(t, s.Fabric().Faults())
	require.Empty(t, s.Fabric().LinksDown())
}

func TestTheReportsOfMoreFaultsThanAnAnswerHoldsArriveOnceEach(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	s := serve(t)
	const faults = faultsPage + 20
	for range faults {
		_, err := s.Fabric().Apply(t.Context(), everyVerb[0])
		require.NoError(t, err)
		_, err = s.Fabric().Apply(t.Context(), everyVerb[4])
		require.NoError(t, err)
		s.Fabric().CloseReports()
	}
	all, err := s.dial(false).Faults(t.Context())
	require.NoError(t, err)
	require.Len(t, all, faults)
	for i, r := range all {
		require.Equal(t, i+1, r.ID)
	}
	raw, err := ask[[]fault.Report](t.Context(), s.dial(false), VerbFaults, nil) // as nats req sends it
	require.NoError(t, err)
	require.Equal(t, 1, raw[0].ID)
	require.Len(t, raw, faultsPage)
}

func TestFollowGivesEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s := serve(t, harness.Traffic("uniform:0.1"))
	c := s.dial(false)
	const changes = 200
	go func() {
		for range changes / 2 {
			_, _, _ = s.Fabric().Cut(s.linkID())
			_, _ = s.Fabric().Restore(context.Background(), s.linkID())
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), rig.Patience)
	defer stop()
	follow := func(after uint64) (seq uint64) {
		seq = after
		restored := 0
		err := c.Follow(ctx, after, func(e fabric.Event) error {
			require.Equal(t, seq+1, e.Seq)
			require.Zero(t, e.Missed)
			seq = e.Seq
			if e.Kind == fabric.EventRestore {
				restored++
			}
			if restored == changes/4 {
				return context.Canceled // it has heard enough
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		return seq
	}
	middle := follow(0)
	last := follow(middle) // it resumes where it was
	for _, e := range s.Fabric().Events().Since(last) {
		// On a busy machine: reports come a second after a repair, and so does a change that was held
		// back, for there were many.
		require.Contains(t, []string{fabric.EventReport, fabric.EventLinkUp}, e.Kind)
	}
}

func TestAllKeptEventsArriveHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s := serve(t)
	for range 2 * 4096 { // more than are kept
		s.Fabric().Events().Publish(0,
			fabric.Event{
				Kind:   string(fault.VerbCut),
				Detail: "a detail as long as that of an event with a report and more of it, again and again",
				Fault:  &fault.Report{Target: "s0.0-s1.0"},
			})
	}
	events, err := s.dial(false).Events(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 4096)
	for i, e := range events[1:] {
		require.Equal(t, events[i].Seq+1, e.Seq)
	}
}

func TestAnEventOlderThanThoseKeptCountsAsMissed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 5000 {
		s.Fabric().Events().Publish(0, fabric.Event{Kind: fabric.EventTraffic})
	}
	e, err := s.Fabric().Events().After(t.Context(), 0)
	require.NoError(t, err)
	require.Positive(t, e.Missed)
}

func TestWatchGivesSamplesWhichAreKeptAsHistory(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s := serve(t, harness.Traffic("uniform:0.5"))
	s.Cut("s0.0", "s1.0")
	ctx, stop := context.WithTimeout(t.Context(), rig.Patience)
	defer stop()
	var last Sample
	err := s.dial(false).Watch(ctx, func(sample Sample) error {
		require.Greater(t, sample.At, last.At)
		if last.At > 0 {
			require.Positive(t, sample.DeliveredRate)
			require.Equal(t, 1, sample.LinksDown)
			require.Contains(t, sample.String(), "links down 1")
			return context.Canceled
		}
		last = sample
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	first, err := s.dial(false).Snapshot(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(first.History), 2, "though nobody has watched")
	p := first.History[1]
	require.True(t, p.Injected > 0 && p.Delivered > 0 && p.P50 > 0 && p.P99 >= p.P50, "%+v", p)
}

func TestMalformedRequestsAreAnsweredAndBreakNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(true), t.Context()
	for _, verb := range []string{VerbSwitch, VerbEvents, VerbApply} {
		for _, in := range []any{
			nil, json.RawMessage(`[1]`), json.RawMessage(`"x"`),
			json.RawMessage(`{"specs":{},"switch":2,"after":-1}`),
		} {
			err := askNone(ctx, c, verb, in)
			require.ErrorIs(t, err, reply.ErrRefused)
			require.ErrorContains(t, err, "malformed request")
		}
	}
	require.ErrorContains(t, askNone(ctx, c, VerbSwitch, json.RawMessage(`{}`)), "unknown")
	require.Error(t, json.Unmarshal([]byte(`{"specs":[{"do":"heal"}]} x`), new(ApplyRequest)),
		"which no client of ours can send")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"specs":[{"do":"heal","forr":"1s"}]}`), new(ApplyRequest)),
		"unknown field")
	require.ErrorContains(t, askNone(ctx, c, VerbFaults, json.RawMessage(`[1]`)), "malformed request")
	out, err := c.Apply(ctx, everyVerb[0])
	require.NoError(t, err)
	require.True(t, out[0].Changed)
}

func TestAFollowerThatStopsReadingSlowsNothing(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	s := serve(t, harness.Traffic("uniform:0.5"))
	c := s.dial(false)
	ctx, stop := context.WithCancel(t.Context())
	stuck, read := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var missed uint64
	done := make(chan error, 1)
	go func() {
		done <- c.Follow(ctx, 0, func(e fabric.Event) error {
			once.Do(func() { close(stuck); <-read })
			missed += e.Missed
			if e.Kind == fabric.EventRestart {
				return context.Canceled
			}
			return nil
		})
	}()
	<-stuck
	began := s.Fabric().Totals().Delivered
	cuts := testenv.N(1000, 200)
	for range cuts {
		_, _, err := s.Fabric().Cut(s.linkID())
		require.NoError(t, err)
		_, err = s.Fabric().Restore(ctx, s.linkID())
		require.NoError(t, err)
	}
	s.Eventually(func() error {
		if s.Fabric().Totals().Delivered < began+200 {
			return context.DeadlineExceeded
		}
		return nil
	})
	require.Less(t, s.Fabric().Faults()[cuts-1].SeenAfter, 5.0)
	close(read)
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
