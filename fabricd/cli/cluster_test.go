package cli_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// clusterFabric is what runs on a cluster: small, for each hello and packet goes through the
// servers, which takes most of the time. At soak it is one of 80 switches.
func clusterFabric() (tree, load string) {
	if testenv.Soak() {
		return "mport-tree:8,3", "uniform:0.02"
	}
	return "mport-tree:4,2", "uniform:0.005"
}

func TestAFabricOverThreeHostsOutlivesTheirFailures(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	if noNamespaces() == "" && !testenv.Soak() {
		t.Skip("hosts in network namespaces do the same on this machine: WEFT_TEST=soak runs both")
	}
	s := loopbackSite(t)
	s.run()
}

// clusterRun is a fabric on the hosts of a site.
type clusterRun struct {
	*site
	graph   *topology.Graph
	load    string
	client  *api.Client
	lead    *rig.Process
	standby *rig.Process
}

// run starts a fabric over the three hosts under load, has everything happen to it that the hosts
// of a cluster can suffer, and ends it.
func (s *site) run() {
	t := s.t
	for _, h := range s.hosts {
		s.startServer(h)
	}
	s.keepsThings(bus.StoreConfig{Fabric: "lab", URL: s.hosts[2].url(), Existing: true})
	for _, h := range s.hosts {
		s.startAgent(h)
		h.agent.Says(" room for ")
	}
	tree, load := clusterFabric()
	g, err := topology.Parse(tree)
	require.NoError(t, err)
	r := &clusterRun{site: s, graph: g, load: load}
	r.lead = s.startLeader(s.hosts[0], "--agents", "all", "--topology", tree, "--traffic", load)
	r.lead.Says(`{"up":`)
	r.standby = s.startLeader(s.hosts[1])
	r.standby.Says(`{"standby":`)
	r.client, err = api.Dial(registry.Entry{Listed: registry.Listed{Name: "lab", URL: s.servers(s.hosts[1])}}, "test",
		true)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.client.Close()) }()
	r.sound("start")

	// Host 3's agent is killed: its switches are dead, the others go on. Started again it gets its
	// part back.
	s.hosts[2].agent.Kill()
	r.until("switches are dead", func(st api.Status) bool { return len(st.SwitchesDown) > 0 })
	r.goesOn()
	s.startAgent(s.hosts[2])
	r.sound("an agent killed and started again")

	// Host 2's agent is frozen for longer than its neighbours wait, and goes on.
	s.hosts[1].agent.Signal(rig.Freeze)
	r.untilLinks("links to a frozen agent are down", anyDown)
	r.goesOn()
	s.hosts[1].agent.Signal(rig.Thaw)
	r.sound("an agent frozen and resumed")

	// The cluster is cut in two: links across go down, both halves go on.
	s.cut(2)
	r.untilLinks("links across the cut are down", anyDown)
	r.goesOn()
	s.heal(2)
	r.sound("a cluster cut in two and healed")

	// Host 3's server is lost: who used it moves to another.
	s.hosts[2].server.Kill()
	r.sound("a server lost")
	s.startServer(s.hosts[2])

	// The leader is killed: the one that stands by takes over and knows what was done.
	cut := r.graph.Links[len(r.graph.Links)-1].Name
	for _, l := range r.graph.Links {
		if l.BetweenSwitches() {
			cut = l.Name
		}
	}
	_, err = r.client.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: cut})
	require.NoError(t, err)
	r.findLeader() // a cluster that has lost a server on a loaded machine may have changed it
	r.lead.Kill()
	r.lead = nil
	r.findLeader()
	r.standby = s.startLeader(s.hosts[2], "--topology", tree)
	r.until("the new leader knows the cut link",
		func(st api.Status) bool { return len(st.LinksCut) == 1 && st.LinksCut[0] == cut })
	r.standby.Says(`{"standby":`)
	_, err = r.client.Apply(t.Context(), fault.Spec{Do: fault.VerbHeal})
	require.NoError(t, err)
	r.sound("the leader killed and another in its place")

	r.writtenDown(cut)

	// The leader is frozen for longer than its lease: the other takes over, and this one stands by
	// when it goes on.
	frozen := r.lead
	stoodBy := strings.Count(frozen.Out.String(), standsBy)
	frozen.Signal(rig.Freeze)
	r.lead = nil
	r.findLeader()
	frozen.Signal(rig.Thaw)
	rig.Until(t, func() bool { return strings.Count(frozen.Out.String(), standsBy) > stoodBy })
	r.standby = frozen
	r.sound("the leader frozen and resumed")

	r.writtenDown(cut)

	// The leader is killed, and the server that writes the store at once.
	writer := s.writer()
	writer.server.Kill()
	r.lead.Kill()
	r.lead = nil
	began := time.Now()
	s.storeWrites(bus.StoreConfig{Fabric: "lab", URL: s.servers(s.hosts[1]), Existing: true})
	chosen := time.Now()
	r.findLeader()
	t.Logf("after the leader and the store's: the store was away for %.1f s, and then there was no leader for %.1f s",
		chosen.Sub(began).Seconds(), time.Since(chosen).Seconds())
	s.startServer(writer)
	r.standby = s.startLeader(s.hosts[2], "--topology", tree)
	r.standby.Says(`{"standby":`)
	r.sound("the leader and the server that writes killed at once")
	attack.Count(t, "agents, servers and leaders of three hosts killed, frozen and cut off, on each kind of hosts", 7)

	r.end()
}

// writtenDown returns when the next leader would know of all that was ordered until now: a cut is
// answered when that is so.
func (r *clusterRun) writtenDown(link string) {
	r.t.Helper()
	r.findLeader()
	_, err := r.client.Apply(r.t.Context(), fault.Spec{Do: fault.VerbCut, A: link})
	require.NoError(r.t, err)
	_, err = r.client.Apply(r.t.Context(), fault.Spec{Do: fault.VerbHeal})
	require.NoError(r.t, err)
}

// writer is the host whose server writes the store: the last that says so.
func (s *site) writer() (writer *siteHost) {
	s.t.Helper()
	last := ""
	for _, h := range s.hosts {
		for line := range strings.Lines(h.server.Out.String()) {
			_, said, ok := strings.Cut(line, "] ")
			if ok && strings.Contains(said, "new stream leader for '$G > KV_weft-lab'") && said > last {
				writer, last = h, said
			}
		}
	}
	require.NotNil(s.t, writer)
	return writer
}

// unheard is long enough for a store to answer: a question that comes before the servers have
// chosen who keeps things is never answered, and is asked again.
const unheard = 2 * time.Second

// storeWrites waits until the store takes a write.
func (s *site) storeWrites(of bus.StoreConfig) {
	s.t.Helper()
	rig.Until(s.t, func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), unheard)
		defer cancel()
		store, err := bus.OpenStore(ctx, of)
		if err != nil {
			return false
		}
		defer store.Close()
		return store.Put(ctx, "test", nil) == nil
	})
}

// keepsThings waits until the servers have found each other and chosen who of them keeps what.
func (s *site) keepsThings(of bus.StoreConfig) {
	s.t.Helper()
	rig.Until(s.t, func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), unheard)
		defer cancel()
		_, err := bus.OpenStore(ctx, of)
		return errors.Is(err, reply.ErrNoKey)
	})
}

// findLeader waits until one of the two leads, and calls it lead.
func (r *clusterRun) findLeader() {
	r.t.Helper()
	rig.Until(r.t, func() bool {
		if leads(r.standby) {
			r.lead, r.standby = r.standby, r.lead
		}
		return r.lead != nil && leads(r.lead)
	}, "one leads")
}

// leads reports whether a fabricd up leads, by what it has said.
func leads(p *rig.Process) bool {
	return p != nil && strings.Count(p.Out.String(), `{"up":`) > strings.Count(p.Out.String(), standsBy)
}

// standsBy is what a leader says that was replaced.
const standsBy = "and this process stands by"

// end interrupts the leader, which ends the fabric.
func (r *clusterRun) end() {
	r.findLeader()
	r.lead.Signal(syscall.SIGINT)
	code, said := r.lead.Ends()
	require.Contains(r.t, said, `"balanced":true`)
	require.Zero(r.t, code, said)
	_, said = r.standby.Ends()
	require.Regexp(r.t, `(?m)^fabricd: fabric lab was ended$`, said)
	for _, h := range r.hosts {
		h.agent.Says(" has ended")
	}
}

func anyDown(l fabric.LinkState) bool { return !l.AUp || !l.BUp }

// until waits for a status.
func (r *clusterRun) until(what string, is func(api.Status) bool) {
	r.t.Helper()
	var last api.Status
	var err error
	rig.Until(r.t, func() bool {
		last, err = r.client.Status(r.t.Context())
		return err == nil && is(last)
	}, "%s: %v", what, &err)
}

// untilLinks waits until one of the links is as that.
func (r *clusterRun) untilLinks(what string, is func(fabric.LinkState) bool) {
	r.t.Helper()
	rig.Until(r.t, func() bool {
		links, err := r.client.Links(r.t.Context())
		if err != nil {
			return false
		}
		for _, l := range links {
			if is(l) {
				return true
			}
		}
		return false
	}, what)
}

// goesOn waits until more packets have arrived.
func (r *clusterRun) goesOn() {
	r.t.Helper()
	var first uint64
	r.until("packets arrive", func(st api.Status) bool {
		if first == 0 {
			first = st.Totals.Delivered
		}
		return st.Totals.Delivered > first+25
	})
}

// sound checks that all links and switches are there, that every packet is accounted for once
// nothing moves, and that packets arrive from each leaf switch at others.
func (r *clusterRun) sound(after string) {
	t := r.t
	t.Helper()
	began := time.Now()
	rig.Until(t, func() bool {
		st, err := r.client.Status(t.Context())
		if err != nil || len(st.SwitchesDown)+len(st.LinksCut) > 0 {
			return false
		}
		links, err := r.client.Links(t.Context())
		for _, l := range links {
			if anyDown(l) {
				return false
			}
		}
		return err == nil && len(links) == len(r.graph.Links)
	}, "after %s: all links are up", after)
	up := time.Since(began)
	r.goesOn()
	_, err := r.client.SetTraffic(t.Context(), "none")
	require.NoError(t, err)
	var l fabric.Ledger
	rig.Until(t, func() bool {
		var err error
		l, err = r.client.Ledger(t.Context())
		return err == nil && l.InFlight == 0 && l.Balanced
	}, "after %s: %+v", after, &l)
	drained := time.Since(began)
	pairs := r.connected()
	_, err = r.client.SetTraffic(t.Context(), r.load)
	require.NoError(t, err)
	t.Logf("after %s: all up in %v, drained in %v, connected in %v, %d injected = %d delivered + %d lost + %d "+
		"discarded, %d pairs connected", after, up.Round(time.Millisecond),
		(drained - up).Round(time.Millisecond), (time.Since(began) - drained).Round(time.Millisecond),
		l.Injected, l.Delivered, l.Lost, l.Discarded, pairs)
}

// trace sends a packet, once the host of its NIC answers: on a machine that stands still for a
// second no host does.
func (r *clusterRun) trace(ctx context.Context, src, dst string) fabric.Tracing {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		sent, err := r.client.Trace(ctx, api.TraceRequest{Src: src, Dst: dst})
		if err == nil {
			return sent
		}
		select {
		case <-ctx.Done():
			r.t.Errorf("%s to %s: %v", src, dst, err)
			return sent
		case <-again.C:
		}
	}
}

// connected sends a packet from a NIC of each leaf switch to one of three others, at soak of each
// other, and waits for all of them.
func (r *clusterRun) connected() int {
	t := r.t
	t.Helper()
	var nics []string
	seen := map[weft.SwitchID]bool{}
	for i, n := range r.graph.NICs {
		if s, _ := r.graph.SwitchOf(weft.NICID(i)); !seen[s] {
			seen[s] = true
			nics = append(nics, n.Name)
		}
	}
	distances := []int{1, len(nics) / 2, len(nics) - 1}
	if testenv.Soak() {
		distances = distances[:0]
		for d := 1; d < len(nics); d++ {
			distances = append(distances, d)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	before := r.trace(ctx, nics[0], nics[1])
	missing := map[string]string{} // pairs, and how far the packet came
	var mu sync.Mutex
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for a := i; a < len(nics); a += 8 {
				for _, distance := range distances {
					b := (a + distance) % len(nics)
					mu.Lock()
					missing[nics[a]+">"+nics[b]] = "nowhere"
					mu.Unlock()
					r.trace(ctx, nics[a], nics[b])
				}
			}
		})
	}
	all := len(nics) * len(distances)
	arrived := 0
	done := errors.New("all arrived")
	err := r.client.Hops(ctx, before.After, func(v fabric.HopView) error {
		mu.Lock()
		defer mu.Unlock()
		pair := v.Src + ">" + v.Dst
		if missing[pair] == "" {
			return nil
		}
		missing[pair] = strings.Join([]string{v.Node, v.Link, v.End}, " ")
		switch v.End {
		case "":
		case fabric.EndDelivered:
			delete(missing, pair)
			arrived++
		default: // a busy machine had a link down just then
			asking.Go(func() { r.trace(ctx, v.Src, v.Dst) })
		}
		if arrived == all {
			return done
		}
		return nil
	})
	asking.Wait()
	if !errors.Is(err, done) {
		var list []string
		for pair, at := range missing {
			list = append(list, pair+" at "+at)
		}
		t.Fatalf("%d of %d pairs are not connected: %v: %.2000s", all-arrived, all, err, strings.Join(list, "; "))
	}
	return all
}
