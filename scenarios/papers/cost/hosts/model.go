package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// model is what hosts pay for a fabric that uses all their processor time: seconds of processor
// time for each link that a packet takes, forwarding at its end included. A link within a host
// costs its agent and its server; one across costs both hosts.
type model struct {
	within     hop
	across     map[float64]hop // by how many hosts share a core
	send       float64         // share of the agent's part of across on the side of the sender
	sendServer float64         // and of the server's
	leader     float64         // processor seconds a second
	idle       float64         // of agents and servers, for an end of a link that carries nothing, a second
	memory     float64         // megabytes of an agent for an end of a link, idle
}

// hop is processor seconds.
type hop struct{ agent, server float64 }

// fit makes the model of a fabric on one host, the same on several, and one link used one way.
func fit(one result, several []result, way result) (*model, error) {
	for _, r := range append([]result{one, way}, several...) {
		if r.busy.delivered <= 0 || r.links <= r.crossings || (r.crossings <= 0) != (len(r.cores) == 1) {
			return nil, fmt.Errorf("%s: %.0f packets a second were delivered over %.2f links each, %.2f of them across hosts: nothing to make a model of",
				r.name, r.busy.delivered, r.links, r.crossings)
		}
	}
	within := one.links * one.busy.delivered
	m := &model{within: hop{sum(one.busy.agents) / within, sum(one.busy.servers) / within}, across: map[float64]hop{}}
	for _, r := range several {
		rest := func(cpu []float64, within float64) float64 {
			return max(0, (sum(cpu)/r.busy.delivered-(r.links-r.crossings)*within)/r.crossings)
		}
		m.across[r.perCore()] = hop{rest(r.busy.agents, m.within.agent), rest(r.busy.servers, m.within.server)}
	}
	// Of one way each host has a link of a NIC and an end of the link across: they differ by what
	// it is to send and to receive.
	share := func(cpu []float64) float64 { return cpu[0] / (cpu[0] + cpu[1]) }
	m.send, m.sendServer = share(way.busy.agents), share(way.busy.servers)
	m.leader = one.busy.leader
	m.idle = (sum(one.idle.agents) + sum(one.idle.servers)) / float64(one.ends)
	m.memory = one.idleMB / float64(one.ends)
	return m, nil
}

// packet is what a packet costs all hosts together, processor seconds.
func (m *model) packet(r result) float64 {
	x := m.across[r.perCore()]
	return (r.links-r.crossings)*(m.within.agent+m.within.server) + r.crossings*(x.agent+x.server)
}

// perCore is how many hosts share a core.
func (r run) perCore() float64 { return float64(len(r.cores)) / float64(len(r.hostCores())) }

// delivered is how many packets a second a fabric delivers that uses its cores up: bounded by all
// of them together, or where each host has cores of its own by the fullest.
func (m *model) delivered(r result) float64 {
	cores := r.hostCores()
	have := float64(len(cores))
	if r.shares() {
		have -= m.leader
	}
	if !r.pooled() {
		have /= r.uneven
	}
	return have / m.packet(r)
}

// hostCores are the cores that hosts have, each once.
func (r run) hostCores() (list []string) {
	for _, c := range r.cores {
		list = append(list, strings.Split(c, ",")...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pooled reports whether all hosts have the same cores.
func (r run) pooled() bool { return len(slices.Compact(slices.Clone(r.cores))) == 1 }

// shares reports whether the leader has cores of hosts.
func (r run) shares() bool {
	return slices.ContainsFunc(r.hostCores(), func(c string) bool { return slices.Contains(strings.Split(r.leader, ","), c) })
}

var header = strings.Split("run,topology,hosts,cores,seconds_up,links_per_packet,crossing_per_packet,fullest_over_mean,idle_agents_cpu,idle_servers_cpu,idle_leader_cpu,"+
	"traffic,agents_cpu,servers_cpu,leader_cpu,delivered_per_second,predicted,measured_over_predicted,cpu_us_per_packet,predicted_us,in_flight,links_down,ledger_balanced,"+
	"agents_megabytes,leader_megabytes", ",")

// row is a line of the table. Without a model, and of what is not saturated, nothing is predicted.
func (r result) row(m *model) []string {
	n := func(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	var mb []string
	for _, x := range r.megabytes {
		mb = append(mb, n(x, 0))
	}
	var predicted, ratio, us string
	if m != nil && r.traffic == saturated {
		predicted, ratio, us = n(m.delivered(r), 0), n(r.busy.delivered/m.delivered(r), 2), n(1e6*m.packet(r), 1)
	}
	return []string{
		r.name, r.topology, strconv.Itoa(len(r.cores)), strings.Join(r.cores, " "), n(r.up, 2), n(r.links, 2), n(r.crossings, 2), n(r.uneven, 3),
		n(sum(r.idle.agents), 3), n(sum(r.idle.servers), 3), n(r.idle.leader, 3), r.traffic, n(sum(r.busy.agents), 3), n(sum(r.busy.servers), 3), n(r.busy.leader, 3),
		n(r.busy.delivered, 0), predicted, ratio, n(1e6*(sum(r.busy.agents)+sum(r.busy.servers))/r.busy.delivered, 1), us,
		strconv.FormatUint(r.inFlight, 10), strconv.Itoa(r.linksDown), strconv.FormatBool(r.balanced), strings.Join(mb, " "), n(r.leaderMB, 0),
	}
}

// table is the runs as a table in Markdown.
func table(results []result, m *model) string {
	var b strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line("hosts", "topology", "links a packet", "of them across", "delivered a second", "predicted", "of that", "us a packet", "predicted")
	line(slices.Repeat([]string{"---"}, 9)...)
	for _, r := range results {
		if r.traffic == saturated {
			x := r.row(m)
			line(r.name, "`"+r.topology+"`", x[5], x[6], x[15], x[16], x[17], x[18], x[19])
		}
	}
	return b.String()
}

// rows are the constants with their units.
func (m *model) rows() [][]string {
	us := func(x float64) string { return strconv.FormatFloat(1e6*x, 'f', 2, 64) }
	const a, s = "us of processor time a packet", "us of processor time a second"
	rows := [][]string{
		{"what", "hosts a core", "cost", "unit"},
		{"link within a host, its agent", "", us(m.within.agent), a},
		{"link within a host, its server", "", us(m.within.server), a},
	}
	for _, k := range slices.Sorted(maps.Keys(m.across)) {
		per, x := strconv.FormatFloat(k, 'f', -1, 64), m.across[k]
		rows = append(rows,
			[]string{"link across hosts, agent that sends", per, us(x.agent * m.send), a},
			[]string{"link across hosts, agent that receives", per, us(x.agent * (1 - m.send)), a},
			[]string{"link across hosts, server of the sender", per, us(x.server * m.sendServer), a},
			[]string{"link across hosts, server of the receiver", per, us(x.server * (1 - m.sendServer)), a})
	}
	return append(rows,
		[]string{"end of a link, idle", "", us(m.idle), s},
		[]string{"leader", "", us(m.leader), s},
		[]string{"end of a link, memory", "", strconv.FormatFloat(1e3*m.memory, 'f', 1, 64), "KB of an agent"})
}

// String is the constants as a table in Markdown.
func (m *model) String() string {
	var b strings.Builder
	rows := m.rows()
	rows = slices.Insert(rows, 1, slices.Repeat([]string{"---"}, len(rows[0])))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	return b.String()
}
