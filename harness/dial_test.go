package harness_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	nicCore "github.com/weft-fabric/weft/nic"
)

// A connection survives links that are cut and mended: its bytes come in order, all packets are
// accounted for, and what they carried is freed.
func TestAConnectionSurvivesCuts(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]harness.Option{
		"over NATS": live.OverNATS(), "in memory": harness.Options(), "large packets": harness.MTU(9000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := "kary-ntree:2,3"
			if testenv.Full() {
				tree = "kary-ntree:4,3"
			}
			h := harness.New(t, tree, options)
			last := h.Topology().NICs[len(h.Topology().NICs)-1].Name
			l := h.Listen(last, "tcp", ":80")
			sent := make([]byte, testenv.N(4<<20, 256<<10))
			source := rand.NewChaCha8([32]byte{byte(h.Seed())})
			_, _ = source.Read(sent) // never fails
			var g errgroup.Group
			g.Go(func() error {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				_, err = io.Copy(patient(c), c) // back again
				return errors.Join(err, c.Close())
			})
			c := patient(h.Dial("n"+zeros(h), "tcp", last+":80"))
			g.Go(func() error {
				_, err := c.Write(sent)
				return errors.Join(err, c.(interface{ CloseWrite() error }).CloseWrite())
			})
			came, done := []byte(nil), make(chan struct{})
			g.Go(func() (err error) {
				defer close(done)
				came, err = io.ReadAll(c)
				return errors.Join(err, c.Close())
			})
			cutWhile(h, 20, done)
			require.NoError(t, g.Wait())
			require.True(t, bytes.Equal(sent, came), "%d bytes of %d came back", len(came), len(sent))
			require.NoError(t, l.Close())
			h.Net(last).Close()
			h.Net("n" + zeros(h)).Close()
			ledger := h.Quiesce()
			require.True(t, ledger.Balanced, "%+v", ledger)
			require.Greater(t, ledger.Delivered, uint64(2*len(sent)/9000))
			require.Zero(t, h.Fabric().LocalNIC(0).Payloads().Held())
		})
	}
}

// The report of a fault says what connections suffered from it, also those that have ended since.
func TestTheReportOfAFaultSaysWhatConnectionsSuffered(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.NoLiveness())
	l := h.Listen("n11", "tcp", ":80")
	var g errgroup.Group
	opened := make(chan struct{})
	g.Go(func() error {
		c, err := l.Accept()
		close(opened)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, patient(c))
		return errors.Join(err, c.Close())
	})
	c := patient(h.Dial("n00", "tcp", "n11:80"))
	<-opened // both sides have: else n11 may send again too, and stand still for longer
	stop := make(chan struct{})
	g.Go(func() error {
		for {
			select {
			case <-stop:
				return c.Close()
			default:
				if _, err := c.Write(make([]byte, 8<<10)); err != nil {
					return err
				}
			}
		}
	})
	open := func() *fault.Connections { return h.Fabric().Faults()[0].Connections }
	h.Cut("s1.0", "n00")
	rig.Until(t, func() bool { c := open(); return c != nil && c.Longest > 0.3 }, "it stands still for longer than an RTT")
	h.Restore("s1.0", "n00")
	rig.Until(t, func() bool { return open().Resent > 0 }, "what was lost is sent again")
	close(stop)
	require.NoError(t, g.Wait())
	h.Net("n00").Close()
	h.Net("n11").Close()
	h.Fabric().CloseReports()
	r := h.Fabric().Faults()[0]
	require.False(t, r.Open)
	require.Positive(t, r.Connections.Resent)
	require.Greater(t, r.Connections.Longest, 0.3)
	worst := r.Connections.Worst[0]
	require.Equal(t, "n00", worst.NIC)
	require.True(t, strings.HasSuffix(worst.To, ":80"), worst.To)
	var b strings.Builder
	_, err := r.WriteTo(&b)
	require.NoError(t, err)
	require.Regexp(t,
		`\n  connections +\d+ connections?, .* sent again, the longest standstill .*\n +n00, .*:80: .* stood still for`,
		b.String())
}

// A trace shows what packets carry, and waits for those of programs.
func TestATraceShowsWhatPacketsCarry(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.NoLiveness())
	l := h.Listen("n11", "tcp", ":80")
	defer func() { _ = l.Close() }()
	for _, of := range []struct{ network, want string }{
		{"udp4", `^UDP 10\.64\.0\.1:\d+ > 10\.64\.0\.4:80$`},
		{"udp6", `^UDP \[fd77:6566:74::1\]:\d+ > \[fd77:6566:74::4\]:80$`},
		{"tcp4", `^TCP 10\.64\.0\.1:\d+ > 10\.64\.0\.4:80 seq`}, // last: its end is sent when it is closed
	} {
		c := h.Dial("n00", of.network, "n11:80")
		made, err := h.Fabric().Trace(0, 3, 1)
		require.NoError(t, err)
		require.Zero(t, made.Sent, "it waits for a packet of a program")
		_, err = c.Write(make([]byte, 500))
		require.NoError(t, err)
		var left fabric.HopView
		rig.Until(t, func() bool {
			views, _, _ := h.Fabric().Hops(made.After)
			for _, v := range views {
				if v.Egress && v.Node == "n00" {
					left = v
				}
			}
			return left.Bytes > 0
		}, "a packet of the connection is traced")
		require.GreaterOrEqual(t, left.Bytes, 20)
		require.Regexp(t, of.want, left.Carries)
		require.Regexp(t, `n00 sends it to .*\n    it carries \d+ bytes, (TCP|UDP) `, left.Summary())
		require.NoError(t, c.Close())
	}
}

// A NIC whose link is cut holds back for ever: its stack ends all the same.
func TestAStackEndsWhileItsNICHoldsBack(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.NoLiveness())
	l := h.Listen("n11", "tcp", ":80")
	var g errgroup.Group
	for range testenv.N(64, 16) {
		c := h.Dial("n00", "tcp", "n11:80")
		g.Go(func() error {
			for {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return nil // it was to end
				}
			}
		})
	}
	h.Cut("s1.0", "n00")
	nic := h.Fabric().LocalNIC(0)
	rig.Until(t, func() bool {
		err := nic.Carry(3, make([]byte, 1000))
		return errors.Is(err, nicCore.ErrQueueFull)
	}, "the NIC holds back")
	h.Net("n00").Close()
	require.NoError(t, g.Wait())
	_ = l.Close()
}

// patient returns c, with a deadline: its calls fail instead of waiting for ever.
func patient(c net.Conn) net.Conn {
	_ = c.SetDeadline(time.Now().Add(rig.Patience))
	return c
}

func zeros(h *harness.Harness) string { return h.Topology().NICs[0].Name[1:] }

// cutWhile cuts and mends links between switches, chosen at random, at least so many and until
// done.
func cutWhile(h *harness.Harness, least int, done <-chan struct{}) {
	var links []topology.Link
	for _, l := range h.Topology().Links {
		if l.BetweenSwitches() {
			links = append(links, l)
		}
	}
	draw := rand.New(rand.NewPCG(h.Seed(), 1))
	for n := 0; ; n++ {
		if n >= least {
			select {
			case <-done:
				return
			default:
			}
		}
		l := links[draw.IntN(len(links))]
		a, b := h.Topology().Name(l.A.Node), h.Topology().Name(l.B.Node)
		h.Cut(a, b)
		h.Restore(a, b)
	}
}

// Programs of Go's library run over the fabric as they are, over both versions of IP, many at once.
func TestAWebServerOnANIC(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2")
	l := h.Listen("n00", "tcp", ":80")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	var g errgroup.Group
	body := bytes.Repeat([]byte("weft"), 50_000)
	for _, nic := range []string{"n01", "n10", "n11"} {
		for _, url := range []string{"http://n00", "http://10.64.0.1:80", "http://[fd77:6566:74::1]:80"} {
			at := h.Net(nic)
			g.Go(func() error {
				transport := &http.Transport{DialContext: at.DialContext}
				defer transport.CloseIdleConnections()
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					return err
				}
				answer, err := transport.RoundTrip(request)
				if err != nil {
					return err
				}
				got, err := io.ReadAll(answer.Body)
				if !bytes.Equal(body, got) {
					err = errors.Join(err, errors.New("the answer is not what was sent"))
				}
				return errors.Join(err, answer.Body.Close())
			})
		}
	}
	require.NoError(t, g.Wait())
	require.NoError(t, server.Close())
	serving.Wait()
}

func TestDatagramsAndWhatCannotBeDialled(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.NoLiveness()) // or a busy machine may lose a datagram
	n00, n11 := h.Net("n00"), h.Net("n11")
	packets, err := n11.ListenPacket("udp", ":53")
	require.NoError(t, err)
	c := h.Dial("n00", "udp", "n11:53")
	_, err = c.Write([]byte("ask"))
	require.NoError(t, err)
	buffer := make([]byte, 100)
	n, from, err := packets.ReadFrom(buffer)
	require.NoError(t, err)
	require.Equal(t, "ask", string(buffer[:n]))
	require.Equal(t, "10.64.0.1", from.(*net.UDPAddr).IP.String())
	require.NoError(t, errors.Join(c.Close(), packets.Close()))

	ctx, cancel := context.WithTimeout(t.Context(), harness.DefaultPatience)
	defer cancel()
	for _, bad := range [][3]string{
		{"tcp", "n12:80", `"n12"`},
		{"tcp", ":80", "which NIC"},
		{"unix", "n11:80", "unix"},
		{"tcp", "n11:http", "65535"},
		{"tcp", "n11:81", "refused"},
		{"tcp", "n11", "port"},
	} {
		_, err := n00.DialContext(ctx, bad[0], bad[1])
		require.ErrorContains(t, err, bad[2])
	}
	_, err = n00.Listen("udp", ":80")
	require.ErrorContains(t, err, "udp")
}
