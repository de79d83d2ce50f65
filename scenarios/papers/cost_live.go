package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

// liveSizes are the topologies that are measured unless others are named.
var liveSizes = []string{"kary-ntree:4,3", "mport-tree:8,3", "mport-tree:16,3", "mport-tree:36,3"}

// liveSettings are the same for all topologies.
type liveSettings struct {
	rate    float64       // packets a second that are asked for, of all NICs together
	span    time.Duration // that the traffic is measured for, and idling
	profile string        // folder of CPU profiles; empty: none
	whole   bool          // the viewer is told of every link, also of a large fabric
	unpaced bool          // links are not paced, and NICs offer as much as paced ones carry
}

func costLive() *cobra.Command {
	var s liveSettings
	var child bool
	cmd := experiment("cost-live FOLDER [TOPOLOGY...]", "Measure what fabrics of several sizes take when they run live",
		`Measures what fabrics of several sizes take when they run live, as fabricd up runs them: in one process, links over NATS.

It writes live.csv into the folder, or live-unpaced.csv. Each topology is run in a process of its own, so that its memory can be told. There
it comes up, idles, and then carries uniform traffic, of 10,000 packets a second in all unless --rate says otherwise. A
state stream is made and read all the while, as for fabricd up and one page, which looks at large fabrics by pods. With
--profile FOLDER every process leaves CPU profiles of coming up and of its traffic there.`,
		cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
			command.BoundGarbage(command.LiveGarbage) // as fabricd does
			if child {
				return s.one(ctx, args[0], os.Stdout)
			}
			return s.all(ctx, args[0], args[1:])
		})
	childFlag(cmd, &child)
	f := cmd.Flags()
	f.Float64Var(&s.rate, "rate", 10_000, "packets a second of all NICs together; no NIC sends more than its link carries")
	f.DurationVar(&s.span, "span", 20*time.Second, "how long the fabric idles, and how long it carries traffic")
	f.StringVar(&s.profile, "profile", "", "folder for CPU profiles of the traffic")
	f.BoolVar(&s.unpaced, "unpaced", false, "links are not paced, and each NIC offers as much as a paced link carries")
	f.BoolVar(&s.whole, "whole", false, "have the viewer be told of every switch and link, also where there are pods")
	return cmd
}

// all measures the topologies one after the other.
func (s liveSettings) all(ctx context.Context, folder string, specs []string) error {
	if len(specs) == 0 {
		specs = liveSizes
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	table := bytes.NewBufferString(strings.Join(liveHeader, ",") + "\n")
	for _, spec := range specs {
		cmd := exec.CommandContext(ctx, self, "cost-live", "--child", "--rate", fmt.Sprint(s.rate), "--span", s.span.String(),
			"--profile", s.profile, fmt.Sprintf("--whole=%t", s.whole), fmt.Sprintf("--unpaced=%t", s.unpaced), spec)
		cmd.Stderr = os.Stderr
		said, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		row, err := csv.NewReader(bytes.NewReader(said)).Read()
		if err != nil || len(row) != len(liveHeader) {
			return fmt.Errorf("%s: said %q, which is no row of %d columns", spec, said, len(liveHeader))
		}
		table.Write(said)
		fmt.Fprintln(os.Stderr, strings.Join(row, " "))
	}
	name := "live.csv"
	if s.unpaced {
		name = "live-unpaced.csv"
	}
	return safefile.Write(filepath.Join(folder, name), table.Bytes())
}

// liveHeader names the columns of a row. Seconds up are of the wall, the others of processor time;
// megabytes are resident, ports those of switches and NICs that a link is at.
var liveHeader = strings.Split(
	"topology,switches,nics,ports,seconds_up,cpu_seconds_up,megabytes_idle,kb_per_port,cpu_idle,asked_per_second,"+
		"delivered_per_second,in_flight,cpu_traffic,delivered_per_cpu_second,hops_per_cpu_second,megabytes_most,viewer_kb_per_second", ",")

// one measures a topology and writes its row.
func (s liveSettings) one(ctx context.Context, spec string, out io.Writer) (err error) {
	bare := resident(os.Getpid())
	stopProfile, err := s.startProfile(spec, "up")
	if err != nil {
		return err
	}
	began, cpu := time.Now(), cpuSeconds()
	g, err := topology.Parse(spec)
	if err != nil {
		return err
	}
	broker, err := bus.StartBroker(bus.BrokerConfig{Fabric: "live"})
	if err != nil {
		return err
	}
	defer broker.Shutdown()
	links, err := bus.NewNATS(bus.NATSConfig{Fabric: "live", Broker: broker})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, links.Close()) }()
	o := fabric.Options{Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: links, Seed: 1}
	o.Link.Paced, o.FixedTime = !s.unpaced, true
	f, err := fabric.New(o)
	if err != nil {
		return err
	}
	if err := f.Start(ctx); err != nil {
		return err
	}
	defer f.Stop()
	up, upCPU := time.Since(began), cpuSeconds()-cpu
	if err := stopProfile(); err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	stream := api.NewStream(f)
	var viewer viewer
	streamed, viewed := make(chan struct{}), make(chan struct{})
	go func() { defer close(streamed); stream.Run(ctx) }()
	go func() { defer close(viewed); viewer.view(ctx, stream, s.whole) }()
	defer func() { stop(); <-streamed; <-viewed }()

	if err := sleep(ctx, s.span/4); err != nil { // what coming up has left behind
		return err
	}
	idle, err := s.spend(ctx, f)
	if err != nil {
		return err
	}
	idleMB, ports := resident(os.Getpid())-bare, 2*len(g.Links)
	asked := float64(fabric.DefaultRate) / nic.DefaultPacketBytes
	if !s.unpaced {
		asked = min(s.rate/float64(len(g.NICs)), asked)
	}
	if err := f.SetTraffic(nic.Traffic{
		Pattern: "uniform",
		Load:    asked * nic.DefaultPacketBytes / fabric.DefaultRate,
	}); err != nil {
		return err
	}
	if err := sleep(ctx, s.span/4); err != nil { // until the flow is steady
		return err
	}
	if stopProfile, err = s.startProfile(spec, "traffic"); err != nil {
		return err
	}
	seen := viewer.bytes.Load()
	flow, err := s.spend(ctx, f)
	seen = viewer.bytes.Load() - seen
	if err = errors.Join(err, stopProfile()); err != nil {
		return err
	}
	n := decimal
	w := csv.NewWriter(out)
	_ = w.Write([]string{ // what fails, Error tells
		spec, strconv.Itoa(len(g.Switches)), strconv.Itoa(len(g.NICs)), strconv.Itoa(ports), n(up.Seconds(), 3), n(upCPU, 3),
		n(idleMB, 0), n(idleMB*1e3/float64(ports), 1), n(idle.cpu/idle.wall, 3), n(asked*float64(len(g.NICs)), 0),
		n(flow.delivered/flow.wall, 0),
		n(flow.inFlight, 0), n(flow.cpu/flow.wall, 2), n(flow.delivered/flow.cpu, 0), n(flow.hops/flow.cpu, 0),
		n(mostMegabytes(), 0),
		n(float64(seen)/1e3/flow.wall, 1),
	})
	w.Flush()
	return w.Error()
}

// liveSpent is what happened in a span.
type liveSpent struct {
	wall, cpu       float64 // seconds
	delivered, hops float64 // packets, packets forwarded by switches
	inFlight        float64 // packets, at its end
}

func (s liveSettings) spend(ctx context.Context, f *fabric.Fabric) (d liveSpent, err error) {
	before, hops := f.Ledger(), f.PacketHops()
	began, cpu := time.Now(), cpuSeconds()
	err = sleep(ctx, s.span)
	d.wall, d.cpu = time.Since(began).Seconds(), cpuSeconds()-cpu
	after := f.Ledger()
	d.delivered, d.hops, d.inFlight = float64(after.Delivered-before.Delivered), float64(f.PacketHops()-hops),
		float64(after.InFlight)
	return d, err
}

// startProfile begins a CPU profile of what is called so, when there is to be one.
func (s liveSettings) startProfile(spec, of string) (stop func() error, err error) {
	if s.profile == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(filepath.Join(s.profile, strings.NewReplacer(":", "-", ",", "-").Replace(spec)+"-"+of+".cpu"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error { pprof.StopCPUProfile(); return file.Close() }, nil
}

// viewer counts what it is told.
type viewer struct{ bytes atomic.Int64 }

// view reads the state stream until ctx ends: of a large fabric by pods, none of which is open,
// unless it wants the whole.
func (v *viewer) view(ctx context.Context, s *api.Stream, whole bool) {
	w := s.Watch("")
	if !whole {
		w.Close()
		var err error
		if w, err = s.WatchPods("", ""); err != nil {
			panic("BUG: no pod is named, and one is unknown: " + err.Error())
		}
	}
	defer w.Close()
	for {
		_, frame, err := w.Next(ctx)
		if err != nil {
			return
		}
		v.bytes.Add(int64(len(frame)))
	}
}

// mostMegabytes is the most memory that this process had, in megabytes.
func mostMegabytes() float64 { return peak(usage()) * 1024 * 1024 / 1e6 }
