package fabric_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// Three switches crash at nine tenths of what links carry and come back, beside others that want
// the machine. What is queued then is carried to its end, every time.
func TestThreeCrashesUnderLoadOnABusyMachineDrain(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	g := topologytest.Parse(t, three)
	busy(t, 2*runtime.NumCPU())
	long, began, rounds := testenv.For(t, 0, 10*time.Minute), time.Now(), 0
	for ; rounds < testenv.Levels(3, 1, 1) || time.Since(began) < long; rounds++ {
		t.Run(fmt.Sprint("round ", rounds), func(t *testing.T) { threeCrashes(t, g, uint64(rounds)) })
	}
	attack.Seen(t, "switches crashed at nine tenths of the load beside busy loops", 3*rounds)
}

func threeCrashes(t *testing.T, g *topology.Graph, round uint64) {
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "crashes", NoListen: true})
	require.NoError(t, err)
	defer b.Shutdown()
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "crashes", Broker: b})
	require.NoError(t, err)
	defer tr.Close()
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.DeterministicSwitch{}.Firmware(), Transport: tr, Seed: round + 1,
		Traffic: nic.Traffic{Pattern: "uniform", Load: 0.9}, Switch: settings.Switch{VCs: 3},
		// what this machine does not carry is refused, or it would take minutes to drain
		NIC: settings.NIC{QueueBytes: shortQueue},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	defer f.Stop()
	delivered := func(n uint64) {
		for goal := f.Totals().Delivered + n; f.Totals().Delivered < goal; {
			require.NoError(t, f.Pause(t.Context(), time.Millisecond, nil))
		}
	}
	delivered(2000)
	above := slices.DeleteFunc(slices.Clone(g.Switches), func(s topology.Switch) bool { return int(s.Tier) == g.Tiers-1 })
	var crashed []string
	for _, i := range rand.New(rand.NewPCG(round, 7)).Perm(len(above))[:3] {
		crashed = append(crashed, above[i].Name)
	}
	for _, do := range []fault.Verb{fault.VerbCrash, fault.VerbRestart} {
		for _, name := range crashed {
			_, err := f.Apply(t.Context(), fault.Spec{Do: do, A: name})
			require.NoError(t, err)
			delivered(500)
		}
	}
	require.NoError(t, f.StopTraffic())
	l, err := f.Quiesce(t.Context())
	require.NoError(t, err, "%v crashed; %+v; %v; %+v", crashed, l, f.CreditsHome(), tr.Stats())
	require.True(t, l.Balanced && l.InFlight == 0, "%+v", l)
	require.NoError(t, f.CreditsHome())
}

// slowBroker is a transport that holds frames up when it is told to: nothing is lost, and nothing
// arrives.
type slowBroker struct {
	wire.Transport
	queried chan struct{} // closed when somebody has asked it whether all is through while it was not

	mu   sync.Mutex
	free chan struct{} // closed when nothing is held up
	held []func()      // guarded by mu
	once sync.Once
}

func newSlowBroker(t wire.Transport) *slowBroker {
	s := &slowBroker{Transport: t, queried: make(chan struct{}), free: make(chan struct{})}
	close(s.free)
	return s
}

func (s *slowBroker) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = make(chan struct{})
}

func (s *slowBroker) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, send := range s.held {
		send()
	}
	s.held = nil
	close(s.free)
}

func (s *slowBroker) holding() (free chan struct{}, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.free:
		return s.free, false
	default:
		return s.free, true
	}
}

func (s *slowBroker) Ready(ctx context.Context) error {
	free, holding := s.holding()
	if holding {
		s.once.Do(func() { close(s.queried) })
	}
	select {
	case <-free:
		return s.Transport.Ready(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowBroker) Sender(d wire.Direction) (wire.Sender, error) {
	out, err := s.Transport.Sender(d)
	return slowSender{out, s}, err
}

type slowSender struct {
	wire.Sender
	broker *slowBroker
}

func (s slowSender) Send(frame []byte) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	select {
	case <-s.broker.free:
		return s.Sender.Send(frame)
	default:
		own := append([]byte(nil), frame...)
		s.broker.held = append(s.broker.held, func() { _ = s.Sender.Send(own) })
		return nil
	}
}

// A broker that a busy machine does not run for a while leaves packets where they are: sent and not
// received, and behind them. Nothing moves, and nothing is stuck.
func TestAFabricWhoseBrokerIsSlowIsNotStuck(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, three)
	m := wire.NewMemory()
	defer m.Close()
	broker := newSlowBroker(m)
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.DeterministicSwitch{}.Firmware(), Transport: broker, Seed: 1,
		Liveness: settings.Liveness{Interval: "off"},
		Switch:   settings.Switch{VCs: 3},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	defer f.Stop()
	broker.hold()
	for dst := range weft.NICID(26) {
		_, err := f.Send(0, dst+1, false)
		require.NoError(t, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := f.Quiesce(t.Context())
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("while frames are on their way: %v; %v", err, f.CreditsHome())
		broker.release()
	case <-broker.queried:
		broker.release()
		require.NoError(t, <-ended)
	}
	l := f.Ledger()
	require.True(t, l.Balanced && l.InFlight == 0 && l.Lost == 0, "%+v", l)
	require.NoError(t, f.CreditsHome())
}

// busy keeps so many processes busy until the test ends.
func busy(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for range n {
		// It looks for us now and then, so that it ends when this process is killed and can end
		// nothing itself.
		spin := exec.CommandContext(ctx, "sh", "-c",
			`while kill -0 "$0"; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done 2>/dev/null`,
			strconv.Itoa(os.Getpid()))
		require.NoError(t, spin.Start())
		loops.Go(func() { _ = spin.Wait() }) // it is killed
	}
	t.Cleanup(func() {
		cancel()
		loops.Wait()
	})
}
