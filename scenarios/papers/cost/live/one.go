package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
	"github.com/weft-fabric/weft/switch/firmware"
)

// header names the columns of a row. Seconds up are of the wall, the others of processor time;
// megabytes are resident, ports those of switches and NICs that a link is at.
var header = strings.Split("topology,switches,nics,ports,seconds_up,cpu_seconds_up,megabytes_idle,kb_per_port,cpu_idle,asked_per_second,"+
	"delivered_per_second,in_flight,cpu_traffic,delivered_per_cpu_second,hops_per_cpu_second,megabytes_most,viewer_kb_per_second", ",")

// one measures a topology and writes its row.
func (s settings) one(ctx context.Context, spec string, out io.Writer) (err error) {
	bare := resident()
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
	o := fabric.Options{Topology: g, Firmware: firmware.AdaptiveLink{}, Transport: links, Seed: 1}
	o.Link.Paced = true
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

	if err := experiment.Sleep(ctx, s.span/4); err != nil { // what coming up has left behind
		return err
	}
	idle, err := s.spend(ctx, f)
	if err != nil {
		return err
	}
	idleMB, ports := resident()-bare, 2*len(g.Links)
	asked := min(s.rate/float64(len(g.NICs)), fabric.DefaultRate/nic.DefaultPacketBytes)
	if err := f.SetTraffic(nic.Traffic{Pattern: "uniform", Load: asked * nic.DefaultPacketBytes / fabric.DefaultRate}); err != nil {
		return err
	}
	if err := experiment.Sleep(ctx, s.span/4); err != nil { // until the flow is steady
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
	n := func(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	w := csv.NewWriter(out)
	_ = w.Write([]string{ // what fails, Error tells
		spec, strconv.Itoa(len(g.Switches)), strconv.Itoa(len(g.NICs)), strconv.Itoa(ports), n(up.Seconds(), 3), n(upCPU, 3),
		n(idleMB, 0), n(idleMB*1e3/float64(ports), 1), n(idle.cpu/idle.wall, 3), n(asked*float64(len(g.NICs)), 0), n(flow.delivered/flow.wall, 0),
		n(flow.inFlight, 0), n(flow.cpu/flow.wall, 2), n(flow.delivered/flow.cpu, 0), n(flow.hops/flow.cpu, 0), n(most(), 0),
		n(float64(seen)/1e3/flow.wall, 1),
	})
	w.Flush()
	return w.Error()
}

// spent is what happened in a span.
type spent struct {
	wall, cpu       float64 // seconds
	delivered, hops float64 // packets, packets forwarded by switches
	inFlight        float64 // packets, at its end
}

func (s settings) spend(ctx context.Context, f *fabric.Fabric) (d spent, err error) {
	before, hops := f.Ledger(), f.PacketHops()
	began, cpu := time.Now(), cpuSeconds()
	err = experiment.Sleep(ctx, s.span)
	d.wall, d.cpu = time.Since(began).Seconds(), cpuSeconds()-cpu
	after := f.Ledger()
	d.delivered, d.hops, d.inFlight = float64(after.Delivered-before.Delivered), float64(f.PacketHops()-hops), float64(after.InFlight)
	return d, err
}

// startProfile begins a CPU profile of what is called so, when there is to be one.
func (s settings) startProfile(spec, of string) (stop func() error, err error) {
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

// resident is the memory of this process that is in use, in megabytes.
func resident() float64 {
	said, err := os.ReadFile("/proc/self/statm")
	var size, pages float64
	if err == nil {
		_, err = fmt.Sscan(string(said), &size, &pages)
	}
	if err != nil {
		return 0 // not on this system; the most there was is told all the same
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// usage is what the system has counted for this process.
func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return u
}

// most is the most memory that this process had, in megabytes.
func most() float64 { return float64(usage().Maxrss) * 1024 / 1e6 }

// cpuSeconds is the processor time that this process has had.
func cpuSeconds() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
