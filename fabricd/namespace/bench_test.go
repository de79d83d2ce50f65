//go:build linux

package namespace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/netstack"
)

// runner runs a program in the namespace of a NIC and returns what it prints.
type runner func(nic string, args ...string) string

// BenchmarkPrograms measures one connection of iperf3, and ping: through a pair of TUNs that one
// process copies between, which is the least that there can be, and through fabrics.
func BenchmarkPrograms(b *testing.B) {
	testenv.Need(b, "iperf3", "iperf3")
	testenv.Need(b, "ping", "iputils-ping")
	for _, mtu := range []int{1500, 9000} {
		for _, c := range []struct {
			name string
			open func(b *testing.B, mtu int) (_ runner, last string)
		}{
			{"pair", plainPair},
			{"switches=1/memory", fabricOf("kary-ntree:2,1", "n1")},
			{"switches=1/nats", fabricOf("kary-ntree:2,1", "n1", live.OverNATS())},
			{"switches=5/memory", fabricOf("kary-ntree:2,3", "n111")},
		} {
			b.Run(fmt.Sprintf("mtu=%d/%s", mtu, c.name), func(b *testing.B) {
				run, last := c.open(b, mtu)
				for b.Loop() {
					served := make(chan string, 1)
					go func() { served <- run(last, "iperf3", "--server", "--one-off") }()
					rig.Until(b, func() bool {
						return run(last, "sh", "-c", "grep -q ':1451 .* 0A ' /proc/net/tcp6 && echo listens") != ""
					}, "iperf3 listens")
					var said struct {
						End struct {
							Received struct {
								Rate float64 `json:"bits_per_second"`
							} `json:"sum_received"`
						} `json:"end"`
					}
					text := run("n0", "iperf3", "--client", last, "--time", "3", "--json")
					require.NoError(b, json.Unmarshal([]byte(text), &said), text)
					<-served
					b.ReportMetric(said.End.Received.Rate/1e6, "Mbit/s")
					text = run("n0", "ping", "-q", "-i", "0.01", "-c", "100", last)
					rtt := regexp.MustCompile(`= [\d.]+/([\d.]+)/`).FindStringSubmatch(text)
					require.NotNil(b, rtt, text)
					ms, err := strconv.ParseFloat(rtt[1], 64)
					require.NoError(b, err)
					b.ReportMetric(ms*1000, "µs-of-ping")
				}
			})
		}
	}
}

// output runs a command by a holder and returns what it prints.
func output(b *testing.B, start func(namespace.Command) (int, error), args []string) string {
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	require.NoError(b, err)
	null, err := os.Open(os.DevNull)
	require.NoError(b, err)
	code, err := start(namespace.Command{Args: args, Env: os.Environ(), Dir: "/", Files: [3]*os.File{null, out, null}})
	require.NoError(b, err)
	text, err := os.ReadFile(out.Name())
	require.NoError(b, errors.Join(err, out.Close(), null.Close()))
	if code != 0 {
		return ""
	}
	return string(text)
}

func fabricOf(topology, last string, options ...harness.Option) func(*testing.B, int) (runner, string) {
	return func(b *testing.B, mtu int) (runner, string) {
		b.Setenv("WEFT_RUN_DIR", filepath.Join(b.TempDir(), "run"))
		h := harness.New(b, topology, options...)
		names := h.Topology().NICNames()
		s, err := namespace.Serve(namespace.Config{
			Fabric: "bench", Host: namespace.Local, Names: names, NIC: h.Fabric().LocalNIC,
			Where: func(weft.NICID) string { return namespace.Local },
		})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, s.Close()) })
		open := map[string]*namespace.Namespace{}
		for as, nic := range map[string]string{"n0": names[0], last: last} {
			open[as], err = namespace.Open(b.Context(), namespace.Options{Fabric: "bench", NIC: nic, MTU: mtu})
			require.NoError(b, err)
		}
		return func(nic string, args ...string) string {
			return output(b, func(c namespace.Command) (int, error) { return open[nic].Run(c, nil) }, args)
		}, last
	}
}

// plainPair is two namespaces whose packets this process copies from one to the other.
func plainPair(b *testing.B, mtu int) (runner, string) {
	start := namespace.PlainPair(b, mtu)
	return func(nic string, args ...string) string {
		return output(b, func(c namespace.Command) (int, error) { return start(nic, c) }, args)
	}, "n1"
}

// wirePort is the end of a wire without a fabric, to measure a stack alone.
type wirePort struct {
	out chan<- []byte
	in  <-chan []byte
	end context.Context
	cut context.CancelFunc
}

func (p *wirePort) Send(packet []byte) error {
	select {
	case p.out <- bytes.Clone(packet):
		return nil
	case <-p.end.Done():
		return ip.ErrClosed
	}
}
func (p *wirePort) TrySend(packet []byte) error { return p.Send(packet) }
func (p *wirePort) Close()                      { p.cut() }
func (p *wirePort) Receive(take func([]byte)) error {
	select {
	case packet := <-p.in:
		take(packet)
		return nil
	case <-p.end.Done():
		return ip.ErrClosed
	}
}

// BenchmarkStacks measures one connection of the stack without a kernel, alone and through a
// switch.
func BenchmarkStacks(b *testing.B) {
	for _, mtu := range []int{1500, 9000} {
		b.Run(fmt.Sprintf("mtu=%d/alone", mtu), func(b *testing.B) {
			there, back := make(chan []byte, 1024), make(chan []byte, 1024)
			var stacks []*netstack.Stack
			for i, ends := range [][2]chan []byte{{there, back}, {back, there}} {
				end, cut := context.WithCancel(context.Background())
				s, err := netstack.New(netstack.Config{
					ID: weft.NICID(i), MTU: mtu, Port: &wirePort{ends[0], ends[1], end, cut},
					Lookup: func(string) (weft.NICID, error) { return 1, nil },
				})
				require.NoError(b, err)
				b.Cleanup(s.Close)
				stacks = append(stacks, s)
			}
			transfer(b, stacks[0], stacks[1])
		})
		b.Run(fmt.Sprintf("mtu=%d/switches=1", mtu), func(b *testing.B) {
			h := harness.New(b, "kary-ntree:2,1", harness.MTU(mtu))
			transfer(b, h.Net("n0"), h.Net("n1"))
		})
	}
}

// transfer sends a MB in each round.
func transfer(b *testing.B, from, to *netstack.Stack) {
	l, err := to.Listen("tcp", ":80")
	require.NoError(b, err)
	came := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			came <- c
		}
	}()
	c, err := from.DialContext(b.Context(), "tcp", "n1:80")
	require.NoError(b, err)
	sink := <-came
	const bytes = 1 << 20
	b.SetBytes(bytes)
	go func() {
		data := make([]byte, bytes)
		for {
			if _, err := c.Write(data); err != nil {
				return
			}
		}
	}()
	for b.Loop() {
		_, err := io.CopyN(io.Discard, sink, bytes)
		require.NoError(b, err)
	}
	_ = l.Close()
}
