package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

// measurer runs fabrics.
type measurer struct {
	bin  string
	span time.Duration
}

// result is what a run has shown.
type result struct {
	run
	up         float64 // seconds until all links were
	ends       int     // of links
	crossings  float64 // links across hosts that a packet takes in the mean, by the placement
	uneven     float64 // ports of the fullest host over the mean
	idle, busy spent
	megabytes  []float64 // resident, per agent, at the end of the traffic
	leaderMB   float64
	idleMB     float64 // of all agents, idle
	inFlight   uint64
	links      float64 // that a packet takes in the mean, those of NICs included
	balanced   bool
	linksDown  int
}

// spent is what happened in a time: processor seconds per second of the wall, and packets per
// second.
type spent struct {
	agents, servers []float64 // per process
	leader          float64
	delivered       float64
}

func sum(list []float64) (s float64) {
	for _, x := range list {
		s += x
	}
	return s
}

// measure runs a fabric on a site of its own.
func (m measurer) measure(ctx context.Context, r run) (got result, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", r.topology, r.name, err)
		}
	}()
	fmt.Fprintf(os.Stderr, "%s: %s on %d hosts\n", r.name, r.topology, len(r.cores))
	s, err := startSite(ctx, m.bin, r)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	first, err := s.next(ctx, startTime)
	if err != nil {
		return got, err
	}
	if first.Up == nil {
		return got, fmt.Errorf("the leader begins with a ledger: %s", s.leader.log)
	}
	got = result{run: r, up: first.Up.Seconds, ends: 2 * first.Up.Links, crossings: first.Up.Placed.PerPath, uneven: 1}
	var ports, most float64
	for _, a := range first.Up.Placed.Agents {
		ports, most = ports+float64(a.Ports), max(most, float64(a.Ports))
	}
	got.uneven = most * float64(len(first.Up.Placed.Agents)) / ports
	client, err := api.Dial(registry.Entry{Listed: registry.Listed{Name: "hosts", URL: s.urls}}, "hosts", true)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := experiment.Sleep(ctx, m.span/4); err != nil { // what coming up has left behind
		return got, err
	}
	if got.idle, _, err = m.spend(ctx, s, client, m.span/2); err != nil {
		return got, err
	}
	for _, p := range s.agents {
		got.idleMB += resident(p)
	}
	if _, err := client.SetTraffic(ctx, r.traffic); err != nil {
		return got, err
	}
	if err := experiment.Sleep(ctx, m.span/4); err != nil { // until the flow is steady
		return got, err
	}
	var totals api.Status
	if got.busy, totals, err = m.spend(ctx, s, client, m.span); err != nil {
		return got, err
	}
	for _, p := range s.agents {
		got.megabytes = append(got.megabytes, resident(p))
	}
	got.leaderMB = resident(s.leader)
	got.inFlight, got.links, got.linksDown = totals.Ledger.InFlight, totals.Totals.MeanHops+1, totals.Sample.LinksDown
	return got, m.ledger(ctx, s, client, &got)
}

// ledger ends the fabric, and takes its last word.
func (m measurer) ledger(ctx context.Context, s *site, client *api.Client, got *result) error {
	if _, err := client.SetTraffic(ctx, "none"); err != nil {
		return err
	}
	if err := s.leader.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	for {
		l, err := s.next(ctx, endTime)
		if err != nil {
			return err
		}
		if l.Ledger != nil {
			got.balanced = l.Ledger.Balanced && l.Ledger.InFlight == 0
			return nil
		}
	}
}

// spend measures a time.
func (m measurer) spend(ctx context.Context, s *site, client *api.Client, span time.Duration) (d spent, last api.Status, err error) {
	look := func() (at time.Time, cpu []float64, st api.Status, err error) {
		st, err = client.Status(ctx)
		at = time.Now()
		for _, list := range [][]*process{s.agents, s.servers, {s.leader}} {
			for _, p := range list {
				cpu = append(cpu, cpuSeconds(p))
			}
		}
		return at, cpu, st, err
	}
	began, before, first, err := look()
	if err != nil {
		return d, last, err
	}
	if err := experiment.Sleep(ctx, span); err != nil {
		return d, last, err
	}
	ended, after, last, err := look()
	if err != nil {
		return d, last, err
	}
	wall := ended.Sub(began).Seconds()
	for i := range after {
		after[i] = (after[i] - before[i]) / wall
	}
	n := len(s.agents)
	d = spent{agents: after[:n], servers: after[n : 2*n], leader: after[2*n], delivered: float64(last.Totals.Delivered-first.Totals.Delivered) / wall}
	return d, last, nil
}

// ticks of processor time are so many a second wherever Linux runs.
const ticks = 100

// cpuSeconds is the processor time that a process has had; 0 of one that is gone.
func cpuSeconds(p *process) float64 {
	said, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(said), ") ") // the name may have spaces
	f := strings.Fields(after)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / ticks
}

// resident is the memory of a process, in megabytes.
func resident(p *process) float64 {
	said, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	var size, pages float64
	if err == nil {
		_, err = fmt.Sscan(string(said), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / 1e6
}
