package api

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	switching "github.com/weft-fabric/weft/switch"
)

// metrics serves what there is to measure, read when it is asked for. Labels are names of the
// topology, numbers of virtual channels and words that are listed here, so there are never more
// series than the fabric has parts.
func (w *Web) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics{w}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
}

// metrics collects those of a fabric.
type metrics struct{ w *Web }

// described are all metrics, to be registered.
var described []*prometheus.Desc

func metric(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("weft_"+name, help, labels, nil)
	described = append(described, d)
	return d
}

var (
	linkUp   = metric("link_up", "1 when both ends take the link for up.", "link")
	linkSent = metric("link_sent_packets_total",
		"Packets sent on one direction of a link; a to b or b to a of the topology.", "link", "direction")
	linkQueued = metric("link_queued_packets", "Packets in the output queues of the end that sends in this direction.",
		"link", "direction")
	linkLost = metric("link_lost_packets_total", "Packets lost on the link or queued for it when it died.", "link")
	links    = metric("links", "Links by state.", "state")
	offered  = metric("offered_packets_per_second",
		"Packets generated in the last second, those that found a send queue full included.")
	timeFactor = metric("time_factor", "How fast the clock of the fabric goes, compared with that of the machine; 0: "+
		"links are not paced, so no factor applies.")
	late = metric("late_ratio",
		"How late packets come because of the machine, as a share of the time they take on a link, and more where they "+
			"wait for their links; too late above 0.5.")
	overloaded = metric("overloaded", "1 while more is offered than carried.")
	deadlocked = metric("deadlocked", "1 while packets wait for each other for ever.")
	waits      = metric("waiting_seconds",
		"How long the packet has waited that waits longest in a switch; 0: none waits for a second, or for a deadlock.")
	switches = metric("switches", "Switches by state.", "state")

	switchHeld      = metric("switch_held_packets", "Packets inside.", "switch")
	switchBlocked   = metric("switch_blocked_packets", "Packets inside that wait for room.", "switch")
	switchForwarded = metric("switch_forwarded_packets_total", "Packets that left by a link.", "switch")
	switchRerouted  = metric("switch_rerouted_packets_total",
		"Decisions to go another way because of a fault, U-turns included.", "switch")
	switchUTurns    = metric("switch_u_turns_total", "Packets sent back where they came from.", "switch")
	switchDiscarded = metric("switch_discarded_packets_total", "Packets ended by a rule.", "switch")
	switchLost      = metric("switch_lost_packets_total", "Packets lost inside: queued for a dead link, or in a crash.",
		"switch", "where")

	vcQueued = metric("vc_queued_packets", "Packets in the queues of a virtual channel, over all ports of the switch.",
		"switch", "vc", "queue")
	vcCredits = metric("vc_credits", "Packets that neighbours can take, over all ports of the switch.", "switch", "vc")
	vcStalls  = metric("vc_stalls_total", "How often a packet began to wait, by reason.", "switch", "vc", "reason")

	nicInjected  = metric("nic_injected_packets_total", "Packets generated.", "nic")
	nicDelivered = metric("nic_delivered_packets_total", "Packets received.", "nic")
	nicRefused   = metric("nic_refused_packets_total", "Packets generated while the send queue was full.", "nic")
	nicReordered = metric("nic_reordered_packets_total", "Packets that came after a later one of their flow.", "nic")
	nicQueued    = metric("nic_queued_packets", "Packets in the send queue.", "nic")

	ledgerInjected = metric("ledger_injected_packets_total", "Packets injected.")
	ledgerEnded    = metric("ledger_ended_packets_total", "Packets that have ended, by account.", "account")
	ledgerInFlight = metric("ledger_in_flight_packets", "Packets in flight, by where they are.", "where")
	latency        = metric("latency_seconds",
		"Latency of all packets delivered so far, a second old at most; quantile 1 is the longest.")

	faultsBegun = metric("faults_total", "Fault reports begun, by kind.", "kind")
	faultsOpen  = metric("faults_open", "Faults that last, or whose effects are still counted, by kind.", "kind")
	faultsLost  = metric("faults_lost_packets_total", "Packets lost to faults, of the reports that are kept, by kind.",
		"kind")

	reconfigurations = metric("reconfigurations_total", "Rounds of the subnet manager, by what became of them.", "outcome")
	phases           = metric("reconfiguration_phase_seconds",
		"How long the phases of a round of the subnet manager took.", "phase")
	tableVersion = metric("switch_table_version", "Version of the tables that a switch forwards by; 1 from the start.",
		"switch")
	nicsHeld = metric("nics_held", "1 while NICs inject nothing because tables are replaced in an empty fabric.")
)

// Describe implements [prometheus.Collector].
func (m metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range described {
		out <- d
	}
}

// series writes metrics.
type series chan<- prometheus.Metric

func (s series) counter(d *prometheus.Desc, v uint64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (s series) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// flag is 1 while something is so.
func (s series) flag(d *prometheus.Desc, is bool, labels ...string) {
	v := 0.0
	if is {
		v = 1
	}
	s.gauge(d, v, labels...)
}

// Collect implements [prometheus.Collector].
func (m metrics) Collect(out chan<- prometheus.Metric) {
	s, f := series(out), m.w.Server.fabric
	m.w.sample(func(r *fabric.Reading, sampler *fabric.Sampler) {
		s.links(f, r)
		s.switches(f, r, sampler)
		s.nics(f, sampler)
		s.ledger(r)
	})
	s.load(m.w.Server.history.latest())
	s.faults(f)
	s.manager(f)
}

func (s series) load(now Sample) {
	s.flag(overloaded, now.Overload != "")
	s.flag(deadlocked, now.Deadlock != "")
	s.gauge(waits, now.WaitingSeconds)
	s.gauge(offered, now.OfferedRate)
	s.gauge(timeFactor, now.TimeFactor)
	s.gauge(late, now.Late)
}

func (s series) links(f *fabric.Fabric, r *fabric.Reading) {
	states := map[string]int{fabric.LinkUp: 0, fabric.LinkCut: 0, fabric.LinkDown: 0, fabric.LinkComing: 0}
	for i, l := range f.Topology().Links {
		k := &r.Links[i]
		states[k.State]++
		s.flag(linkUp, k.Up[0] && k.Up[1], l.Name)
		s.counter(linkLost, k.Lost, l.Name)
		for d, direction := range []string{"ab", "ba"} {
			s.counter(linkSent, k.Sent[d], l.Name, direction)
			s.gauge(linkQueued, float64(k.Queued[d]), l.Name, direction)
		}
	}
	for state, n := range states {
		s.gauge(links, float64(n), state)
	}
}

func (s series) switches(f *fabric.Fabric, r *fabric.Reading, sampler *fabric.Sampler) {
	states := map[string]int{fabric.SwitchUp: 0, fabric.SwitchDown: 0, fabric.SwitchSuspect: 0}
	vcs := sampler.VCs()
	for i, sw := range f.Topology().Switches {
		k, st := &r.Switches[i], sampler.Stats(i)
		states[k.State]++
		s.gauge(switchHeld, float64(k.Held), sw.Name)
		s.gauge(switchBlocked, float64(k.Blocked), sw.Name)
		s.counter(switchForwarded, st.Forwarded, sw.Name)
		s.counter(switchRerouted, st.Rerouted, sw.Name)
		s.counter(switchUTurns, st.UTurns, sw.Name)
		s.counter(switchDiscarded, st.Discarded, sw.Name)
		s.counter(switchLost, st.LostQueue, sw.Name, "queue")
		s.counter(switchLost, st.LostCrash, sw.Name, "crash")
		s.channels(sw.Name, vcs[i])
	}
	for state, n := range states {
		s.gauge(switches, float64(n), state)
	}
}

// channels tells of virtual channels over all ports: each port apart would be a hundred thousand
// series in a large fabric.
func (s series) channels(name string, sums []switching.VCSum) {
	for i, c := range sums {
		vc := strconv.Itoa(i)
		s.gauge(vcQueued, float64(c.Input), name, vc, "input")
		s.gauge(vcQueued, float64(c.Output), name, vc, "output")
		s.gauge(vcCredits, float64(c.Credits), name, vc)
		for _, reason := range switching.Stalls() {
			s.counter(vcStalls, c.Stalls[reason], name, vc, reason.String())
		}
	}
}

func (s series) nics(f *fabric.Fabric, sampler *fabric.Sampler) {
	for i, n := range f.Topology().NICs {
		r := sampler.NIC(i)
		s.counter(nicInjected, r.Stats.Injected, n.Name)
		s.counter(nicDelivered, r.Stats.Delivered, n.Name)
		s.counter(nicRefused, r.Stats.Refused, n.Name)
		s.counter(nicReordered, r.Stats.Reordered, n.Name)
		s.gauge(nicQueued, float64(r.Queued), n.Name)
	}
}

func (s series) ledger(r *fabric.Reading) {
	l := &r.Ledger
	s.counter(ledgerInjected, l.Injected)
	s.counter(ledgerEnded, l.Delivered, "delivered")
	s.counter(ledgerEnded, l.LostWire, "lost_wire")
	s.counter(ledgerEnded, l.LostQueued, "lost_queued")
	s.counter(ledgerEnded, l.LostCrash, "lost_crash")
	s.counter(ledgerEnded, l.Discarded, "discarded")
	s.gauge(ledgerInFlight, float64(l.Waiting.Queues), "queues")
	s.gauge(ledgerInFlight, float64(l.Waiting.Switches), "switches")
	s.gauge(ledgerInFlight, float64(l.Waiting.Wires), "wires")
	t := &r.Totals // the latency is older than the counters: with theirs, the sum would go up and down
	s <- prometheus.MustNewConstSummary(latency, r.Timed, t.Latency.Mean/1e6*float64(r.Timed), map[float64]float64{
		0.5: t.Latency.P50 / 1e6, 0.9: t.Latency.P90 / 1e6, 0.99: t.Latency.P99 / 1e6, 1: t.Latency.Max / 1e6,
	})
}

// kinds are those of all reports there can be.
var kinds = []string{
	string(fault.VerbCut), string(fault.VerbFlap), string(fault.VerbImpair), string(fault.VerbCrash),
	fault.KindBroker, fault.KindSilence, fault.KindHandover, fault.KindProcess, fault.KindHost,
}

func (s series) faults(f *fabric.Fabric) {
	counts := f.FaultCounts()
	for _, kind := range kinds {
		c := counts[kind]
		s.counter(faultsBegun, c.Begun, kind)
		s.gauge(faultsOpen, float64(c.Open), kind)
		s.counter(faultsLost, c.Lost, kind)
	}
}

// manager tells of new tables.
func (s series) manager(f *fabric.Fabric) {
	counts := f.RoundCounts()
	for _, outcome := range leader.Outcomes {
		s.counter(reconfigurations, counts.Outcomes[outcome], outcome)
	}
	for _, phase := range []string{
		leader.PhaseDetect, leader.PhaseCompute, leader.PhaseDrain, leader.PhaseDistribute,
		leader.PhaseSettle,
	} {
		n, within := counts.Phases[phase], map[float64]uint64{}
		for i, bound := range leader.PhaseBounds {
			within[bound] = 0
			if n.Within != nil {
				within[bound] = n.Within[i]
			}
		}
		s <- prometheus.MustNewConstHistogram(phases, n.Count, n.Seconds, within, phase)
	}
	for i, v := range f.TableVersions() {
		s.gauge(tableVersion, float64(v), f.Topology().Switches[i].Name)
	}
	s.flag(nicsHeld, f.Held())
}
