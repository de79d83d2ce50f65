package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// hostsRun is one fabric on so many hosts.
type hostsRun struct {
	name     string
	topology string
	cores    []string // per host, as taskset names them
	leader   string   // likewise
	traffic  string
	flags    []string // of fabricd up
}

// layouts are how hosts share two cores. Where a host has one to itself, as hosts of a cluster do,
// frames wait for company while other hosts work, and fewer messages carry more; of hosts that
// share a core each has only short turns.
var layouts = []hostsRun{
	{name: "1 host, 1 core", cores: []string{"1"}, leader: "0"},
	{name: "2 hosts, a core each", cores: []string{"0", "1"}, leader: "0,1"},
	{name: "3 hosts, 2 cores", cores: []string{"0,1", "0,1", "0,1"}, leader: "0,1"},
	{name: "2 hosts, 1 core", cores: []string{"1", "1"}, leader: "0"},
	{name: "3 hosts, 1 core", cores: []string{"1", "1", "1"}, leader: "0"},
}

// What saturates a fabric, chosen by us: twice what two cores carry, for more costs them what NICs
// refuse, in packets of which few fit into a send queue, so that the fabric drains soon. Packets
// cost the same whatever their size, for they are headers only.
const (
	saturated = "uniform:1,sizes=4096"
	offered   = 128_000 // packets a second of all NICs together
)

// on is a layout with a fabric that is saturated.
func (r hostsRun) on(spec string) (hostsRun, error) {
	g, err := topology.Parse(spec)
	if err != nil {
		return r, err
	}
	r.topology, r.traffic = spec, saturated
	r.flags = []string{"--link-rate", strconv.Itoa(offered / len(g.NICs) * 4096)}
	return r, nil
}

// The fabrics: what the constants come from, and what they are to predict.
const (
	smallFabric  = "kary-ntree:4,3"
	largerFabric = "mport-tree:8,3"
	otherFabric  = "torus:8x8"
)

var (
	oneWay = hostsRun{
		"one way", "mesh:2",
		[]string{"1", "1"},
		"0", "incast:1,to=0",
		[]string{"--link-rate", "100000000"},
	}
	largeRun = hostsRun{"3 hosts, 2 cores", "mport-tree:36,3", []string{"0,1", "0,1", "0,1"}, "0,1", "uniform:0.0002", nil}
)

func costHosts() *cobra.Command {
	var span time.Duration
	var big bool
	cmd := experiment("cost-hosts FOLDER",
		"Measure what a fabric over several hosts costs each of them, and make a model of it",
		`Measures what a fabric over several hosts costs each of them, makes a model of it, and holds the model against other
runs.

It writes hosts.csv and hosts-model.csv into the folder. Hosts are an agent and a NATS server each, as processes on this
machine, pinned to its cores with taskset; the servers are a cluster. The leader is fabricd up. The commands are built
first, from this tree.

Runs of a small fabric on one, two and three hosts, and one of a link that is used one way, give the constants. Then other
fabrics run on hosts that share the cores in the same ways. All are saturated, so that processor time is what bounds them,
and the model is to say at how many packets a second. With --large it is mport-tree:36,3 on three hosts alone, at a rate
that two cores carry, into hosts-large.csv. There must be two cores.`,
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error { return measureHosts(ctx, args[0], span, big) })
	cmd.Flags().DurationVar(&span, "span", 8*time.Second, "how long each run is measured, and half as long idling")
	cmd.Flags().BoolVar(&big, "large", false, "measure only "+largeRun.topology+", at a rate of packets and not saturated")
	return cmd
}

func measureHosts(ctx context.Context, folder string, span time.Duration, big bool) error {
	bin, err := os.MkdirTemp("", "weft-hosts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := buildHosts(ctx, bin); err != nil {
		return err
	}
	m := measurer{bin: bin, span: span}
	if big {
		got, err := m.measure(ctx, largeRun)
		if err != nil {
			return err
		}
		for i, x := range got.row(nil) {
			fmt.Println(hostsHeader[i], x)
		}
		return writeCSV(filepath.Join(folder, "hosts-large.csv"), [][]string{hostsHeader, got.row(nil)})
	}
	var results []hostsResult
	saturate := func(spec string, of ...hostsRun) error {
		for _, r := range of {
			r, err := r.on(spec)
			if err != nil {
				return err
			}
			got, err := m.measure(ctx, r)
			if err != nil {
				return err
			}
			results = append(results, got)
		}
		return nil
	}
	if err := saturate(smallFabric, layouts...); err != nil {
		return err
	}
	one, err := m.measure(ctx, oneWay)
	if err != nil {
		return err
	}
	model, err := fit(results[0], results[1:], one)
	if err != nil {
		return err
	}
	results = append(results, one)
	if err := saturate(largerFabric, layouts...); err != nil {
		return err
	}
	if err := saturate(otherFabric, layouts[1:3]...); err != nil {
		return err
	}
	rows := [][]string{hostsHeader}
	for _, r := range results {
		rows = append(rows, r.row(model))
	}
	fmt.Printf("%s\n%s", hostsTable(results, model), model)
	return errors.Join(writeCSV(filepath.Join(folder, "hosts.csv"), rows),
		writeCSV(filepath.Join(folder, "hosts-model.csv"), model.rows()))
}

// buildHosts makes the commands that hosts run.
func buildHosts(ctx context.Context, folder string) error {
	for name, of := range map[string]string{"fabricd": "./fabricd", "nats-server": "github.com/nats-io/nats-server/v2"} {
		said, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, name), of).CombinedOutput()
		if err != nil {
			return fmt.Errorf("build %s, from the root of the source: %w: %s", of, err, said)
		}
	}
	return nil
}

// hostsModel is what hosts pay for a fabric that uses all their processor time: seconds of
// processor time for each link that a packet takes, forwarding at its end included. A link within a
// host costs its agent and its server; one across costs both hosts.
type hostsModel struct {
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
func fit(one hostsResult, several []hostsResult, way hostsResult) (*hostsModel, error) {
	for _, r := range append([]hostsResult{one, way}, several...) {
		if r.busy.delivered <= 0 || r.links <= r.crossings || (r.crossings <= 0) != (len(r.cores) == 1) {
			return nil, fmt.Errorf("%s: %.0f packets a second were delivered over %.2f links each, %.2f of them across hosts: "+
				"nothing to make a model of",
				r.name, r.busy.delivered, r.links, r.crossings)
		}
	}
	within := one.links * one.busy.delivered
	m := &hostsModel{within: hop{sum(one.busy.agents) / within, sum(one.busy.servers) / within}, across: map[float64]hop{}}
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
func (m *hostsModel) packet(r hostsResult) float64 {
	x := m.across[r.perCore()]
	return (r.links-r.crossings)*(m.within.agent+m.within.server) + r.crossings*(x.agent+x.server)
}

// perCore is how many hosts share a core.
func (r hostsRun) perCore() float64 { return float64(len(r.cores)) / float64(len(r.hostCores())) }

// delivered is how many packets a second a fabric delivers that uses its cores up: bounded by all
// of them together, or where each host has cores of its own by the fullest.
func (m *hostsModel) delivered(r hostsResult) float64 {
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
func (r hostsRun) hostCores() (list []string) {
	for _, c := range r.cores {
		list = append(list, strings.Split(c, ",")...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pooled reports whether all hosts have the same cores.
func (r hostsRun) pooled() bool { return len(slices.Compact(slices.Clone(r.cores))) == 1 }

// shares reports whether the leader has cores of hosts.
func (r hostsRun) shares() bool {
	return slices.ContainsFunc(r.hostCores(),
		func(c string) bool { return slices.Contains(strings.Split(r.leader, ","), c) })
}

var hostsHeader = strings.Split(
	"run,topology,hosts,cores,seconds_up,links_per_packet,crossing_per_packet,fullest_over_mean,idle_agents_cpu,idle_servers_cpu,idle_leader_cpu,"+
		"traffic,agents_cpu,servers_cpu,leader_cpu,delivered_per_second,predicted,measured_over_predicted,cpu_us_per_packet,predicted_us,in_flight,links_down,ledger_balanced,"+
		"agents_megabytes,leader_megabytes", ",")

// row is a line of the table. Without a model, and of what is not saturated, nothing is predicted.
func (r hostsResult) row(m *hostsModel) []string {
	n := decimal
	var mb []string
	for _, x := range r.megabytes {
		mb = append(mb, n(x, 0))
	}
	var predicted, ratio, us string
	if m != nil && r.traffic == saturated {
		predicted, ratio, us = n(m.delivered(r), 0), n(r.busy.delivered/m.delivered(r), 2), n(1e6*m.packet(r), 1)
	}
	return []string{
		r.name, r.topology, strconv.Itoa(len(r.cores)), strings.Join(r.cores, " "), n(r.up, 2), n(r.links, 2),
		n(r.crossings, 2), n(r.uneven, 3),
		n(sum(r.idle.agents), 3), n(sum(r.idle.servers), 3), n(r.idle.leader, 3), r.traffic, n(sum(r.busy.agents), 3),
		n(sum(r.busy.servers), 3), n(r.busy.leader, 3),
		n(r.busy.delivered, 0), predicted, ratio, n(1e6*(sum(r.busy.agents)+sum(r.busy.servers))/r.busy.delivered, 1), us,
		strconv.FormatUint(r.inFlight, 10), strconv.Itoa(r.linksDown), strconv.FormatBool(r.balanced), strings.Join(mb, " "),
		n(r.leaderMB, 0),
	}
}

// hostsTable is the runs as a table in Markdown.
func hostsTable(results []hostsResult, m *hostsModel) string {
	var b strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line("hosts", "topology", "links a packet", "of them across", "delivered a second", "predicted", "of that",
		"us a packet", "predicted")
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
func (m *hostsModel) rows() [][]string {
	us := func(x float64) string { return decimal(1e6*x, 2) }
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
		[]string{"end of a link, memory", "", decimal(1e3*m.memory, 1), "KB of an agent"})
}

// String is the constants as a table in Markdown.
func (m *hostsModel) String() string {
	var b strings.Builder
	rows := m.rows()
	rows = slices.Insert(rows, 1, slices.Repeat([]string{"---"}, len(rows[0])))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	return b.String()
}
