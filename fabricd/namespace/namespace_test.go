//go:build linux

package namespace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic/nicd"
)

// asProgram has the test binary be a program on a NIC, which does what the variable says.
const asProgram = "WEFT_TEST_PROGRAM"

// asClient has it be a client that a test kills.
const asClient = "WEFT_TEST_CLIENT"

func TestMain(m *testing.M) {
	namespace.Main()
	if what := os.Getenv(asProgram); what != "" {
		if err := program(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(asClient) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "weft-namespace-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("WEFT_RUN_DIR", dir); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// program listens and sends back what comes, or sends so many bytes and compares what comes back.
func program(what string, args []string) error {
	if what == "listen" {
		l, err := net.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		fmt.Println("listens")
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	sent := bytes.Repeat([]byte("0123456789abcdefg"), count/17)
	var g errgroup.Group
	g.Go(func() error {
		_, err := c.Write(sent)
		return errors.Join(err, c.(*net.TCPConn).CloseWrite())
	})
	came, err := io.ReadAll(c)
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if !bytes.Equal(sent, came) {
		return fmt.Errorf("%d bytes of %d came back, or others", len(came), len(sent))
	}
	fmt.Println("all came back")
	return nil
}

// served is a fabric with NICs for programs.
func served(t *testing.T, name, topology string, options ...harness.Option) *harness.Harness {
	t.Helper()
	h := needTUN(t, topology, options...)
	serve(t, h, name, func(id weft.NICID) bool { return true })
	return h
}

// needTUN is a fabric, where programs can have networks.
func needTUN(t *testing.T, topology string, options ...harness.Option) *harness.Harness {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		testenv.Missing(t, "programs need a network: %v", err)
	}
	return harness.New(t, topology, options...)
}

// serve serves the NICs that are here. The others are on host h2.
func serve(t *testing.T, h *harness.Harness, name string, here func(weft.NICID) bool) *namespace.Server {
	t.Helper()
	s, err := namespace.Serve(config(h, name, here))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func config(h *harness.Harness, name string, here func(weft.NICID) bool) namespace.Config {
	c := namespace.Config{
		Fabric: name, Host: "h1", Names: h.Topology().NICNames(), NIC: h.Fabric().LocalNIC,
		Where: func(weft.NICID) string { return "h2" },
	}
	all := c.NIC
	c.NIC = func(id weft.NICID) *nicd.NIC {
		if here(id) {
			return all(id)
		}
		return nil
	}
	return c
}

func open(t *testing.T, fabric, nic string) *namespace.Namespace {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	n, err := namespace.Open(ctx, namespace.Options{Fabric: fabric, NIC: nic})
	if errors.Is(err, namespace.ErrUnable) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	return n
}

// result is what came of a program.
type result struct {
	out  string
	code int
	err  error
}

// start starts a program on a NIC. The signals are passed on.
func start(t *testing.T, n *namespace.Namespace, signals <-chan os.Signal, env string, args ...string) <-chan result {
	t.Helper()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	done := make(chan result, 1)
	go func() {
		code, err := n.Run(namespace.Command{
			Args: args, Env: append(os.Environ(), env), Dir: dir, Files: [3]*os.File{null, out, out},
		}, signals)
		text, _ := os.ReadFile(out.Name())
		_, _ = out.Close(), null.Close()
		done <- result{string(text), code, err}
	}()
	return done
}

// run runs a program to its end.
func run(t *testing.T, n *namespace.Namespace, args ...string) result {
	t.Helper()
	return <-start(t, n, nil, "A=b", args...)
}

// self is this test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// await waits until a program on the NIC listens.
func await(t *testing.T, n *namespace.Namespace) {
	t.Helper()
	rig.Until(t, func() bool {
		return run(t, n, "sh", "-c", "grep -q ':0050 .* 0A ' /proc/net/tcp6").code == 0
	}, "somebody listens")
}

// An unmodified program's bytes come in order while links are cut and mended, over IPv4 and IPv6,
// and every packet is accounted for.
func TestProgramsTalkThroughTheFabric(t *testing.T) {
	h := served(t, "talk", "kary-ntree:2,3", live.OverNATS())
	server, client := open(t, "talk", "n111"), open(t, "talk", "n000")
	listens := start(t, server, nil, asProgram+"=listen", self(t))
	await(t, server)
	var sends []<-chan result
	for _, at := range []string{"n111:80", "10.64.0.8:80", "[fd77:6566:74::8]:80"} {
		sends = append(sends, start(t, client, nil, asProgram+"=send", self(t), at, "100000"))
	}
	for _, s := range sends {
		for going := true; going; {
			select {
			case r := <-s:
				require.Equal(t, result{out: "all came back\n"}, r)
				going = false
			default:
				h.Cut("s0.00", "s1.00")
				h.Cut("s0.01", "s1.11")
				h.Restore("s0.01", "s1.11")
				h.Restore("s0.00", "s1.00")
			}
		}
	}
	require.NoError(t, client.Close())
	require.NoError(t, server.Close()) // which ends the program that listens
	r := <-listens
	require.True(t, r.err != nil || r.code == 128+9, "%+v", r)
	ledger := h.Quiesce()
	require.True(t, ledger.Balanced, "%+v", ledger)
	require.Positive(t, ledger.Delivered)
	require.Zero(t, h.Fabric().LocalNIC(0).Payloads().Held())
}

// A connection that a cut stops is said to stand still, and afterwards for how long it did.
func TestConnectionsSayHowLongTheyStoodStill(t *testing.T) {
	h := served(t, "still", "kary-ntree:2,2")
	server, client := open(t, "still", "n11"), open(t, "still", "n00")
	listens := start(t, server, nil, asProgram+"=listen", self(t))
	await(t, server)
	sends := start(t, client, nil, asProgram+"=send", self(t), "n11:80", strconv.Itoa(500<<20))
	find := func() (c namespace.Connection) {
		list, err := namespace.Connections(t.Context(), "still")
		require.NoError(t, err)
		for _, one := range list {
			if one.NIC == "n00" && one.To.Port() == 80 {
				c = one
			}
		}
		return c
	}
	rig.Until(t, func() bool { return find().Bytes > 1<<20 }, "it has begun")
	require.False(t, find().Ended)
	h.Cut("s1.0", "n00")
	const still = 100 * weft.Millisecond
	rig.Until(t, func() bool { return find().Standing > still }, "it stands still")
	sent := find().Bytes
	h.Restore("s1.0", "n00")
	rig.Until(t, func() bool { return find().Bytes > sent+1<<20 }, "it goes on")
	require.Greater(t, find().Longest, still)
	require.NoError(t, client.Close())
	<-sends
	rig.Until(t, func() bool { return find().Ended }, "it has ended")
	require.Greater(t, find().Longest, still)
	require.NoError(t, server.Close())
	<-listens
}

func TestProgramsOfANICShareItsNetwork(t *testing.T) {
	served(t, "share", "kary-ntree:2,2")
	one, another := open(t, "share", "n00"), open(t, "share", "n00")
	network := func(n *namespace.Namespace) string { return run(t, n, "readlink", "/proc/self/ns/net").out }
	mine, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	first := network(one)
	require.Contains(t, first, "net:[")
	require.NotContains(t, first, mine)
	require.Equal(t, first, network(another))
	require.Equal(t, "n00\n", run(t, one, "hostname").out)
	require.NoError(t, one.Close())
	require.Equal(t, first, network(another), "the namespace stays for the other")
	require.NoError(t, another.Close())

	anew := open(t, "share", "n00")
	require.NotEqual(t, first, network(anew))
	require.NoError(t, anew.Close())
}

func TestAProgramEndsWithItsCodeAndBySignals(t *testing.T) {
	served(t, "code", "kary-ntree:2,2")
	n := open(t, "code", "n01")
	defer func() { _ = n.Close() }()
	require.Equal(t, result{code: 3}, run(t, n, "sh", "-c", "exit 3"))
	require.Equal(t, result{out: "b\n"}, run(t, n, "sh", "-c", "echo $A"))
	require.ErrorContains(t, run(t, n, "no-such-program").err, "no-such-program")
	require.ErrorContains(t, run(t, n, "./none").err, "none")
	signals := make(chan os.Signal, 1)
	done := start(t, n, signals, "A=b", "sleep", "1000")
	signals <- syscall.SIGTERM
	require.Equal(t, result{code: 128 + 15}, <-done)
	done = start(t, n, nil, "A=b", "sh", "-c", "kill -9 $$")
	require.Equal(t, result{code: 128 + 9}, <-done)
}

// What cannot be names the reason, and what to do.
func TestWhatCannotHaveANamespaceSaysWhy(t *testing.T) {
	h := served(t, "wrong", "kary-ntree:2,2")
	serve(t, h, "apart", func(id weft.NICID) bool { return id == 0 })
	for _, c := range []struct {
		o    namespace.Options
		want string
	}{
		{namespace.Options{Fabric: "wrong", NIC: "n0"}, `"n00"`},
		{namespace.Options{Fabric: "wrnog", NIC: "n00"}, `"wrong"`},
		{namespace.Options{Fabric: "wrong", NIC: "n00", MTU: 9001}, "1280 to 9000"},
		{namespace.Options{NIC: "n00"}, "--fabric"},
		{namespace.Options{Fabric: "apart", NIC: "n01"}, "host h2"},
	} {
		_, err := namespace.Open(t.Context(), c.o)
		require.ErrorContains(t, err, c.want)
	}
	n := open(t, "apart", "n00")
	_, err := namespace.Open(t.Context(), namespace.Options{Fabric: "apart", NIC: "n00", MTU: 9000})
	require.ErrorContains(t, err, "MTU of 1500")
	require.NoError(t, n.Close())
	large, err := namespace.Open(t.Context(), namespace.Options{Fabric: "apart", NIC: "n00", MTU: 9000})
	require.NoError(t, err)
	require.Contains(t, run(t, large, "cat", "/sys/class/net/weft0/mtu", "/proc/net/dev").out, "weft0")
	require.NoError(t, large.Close())
	_, err = namespace.Serve(namespace.Config{Fabric: "apart", Host: "h1", Names: []string{"n00"}})
	require.ErrorContains(t, err, "another process serves them")
}

// Whatever is killed, nothing is left, and who waits is told.
func TestNothingIsLeftWhateverIsKilled(t *testing.T) {
	h := served(t, "kill", "kary-ntree:2,2")
	holders := func() (pids []int) {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, f := range files {
			text, _ := os.ReadFile(f)
			stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "status"))
			if bytes.HasPrefix(text, []byte("weft-nic\x00{\"nic\":\"n11\"")) && !bytes.Contains(stat, []byte("State:\tZ")) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
				pids = append(pids, pid)
			}
		}
		return pids
	}
	none := func() { rig.Until(t, func() bool { return len(holders()) == 0 }, "no holder is left") }
	t.Run("the namespace", func(t *testing.T) {
		n := open(t, "kill", "n11")
		done := start(t, n, nil, "A=b", "sleep", "1000")
		rig.Until(t, func() bool { return run(t, n, "pgrep", "-x", "sleep").code == 0 }, "it has begun")
		require.Len(t, holders(), 1)
		require.NoError(t, syscall.Kill(holders()[0], syscall.SIGKILL))
		r := <-done
		require.ErrorContains(t, r.err, "NIC n11")
		require.ErrorContains(t, r.err, "killed")
		none()
		require.NoError(t, n.Close())
		again := open(t, "kill", "n11")
		require.Zero(t, run(t, again, "true").code)
		require.NoError(t, again.Close())
		none()
	})
	t.Run("the client", func(t *testing.T) {
		cmd := exec.Command(self(t), "-test.run", "^TestClientForTheKilled$", "-test.count=1")
		cmd.Env = append(os.Environ(), asClient+"=kill")
		require.NoError(t, cmd.Start())
		rig.Until(t, func() bool { return len(holders()) == 1 }, "there is a namespace")
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		none()
	})
	t.Run("the server", func(t *testing.T) {
		s := serve(t, h, "killed", func(weft.NICID) bool { return true })
		n := open(t, "killed", "n11")
		done := start(t, n, nil, "A=b", "sleep", "1000")
		require.NoError(t, s.Close())
		require.ErrorContains(t, (<-done).err, "NIC n11")
		none()
		_, err := namespace.Open(t.Context(), namespace.Options{Fabric: "killed", NIC: "n11"})
		require.ErrorContains(t, err, "killed")
	})
}

// TestClientForTheKilled is the client that a test kills.
func TestClientForTheKilled(t *testing.T) {
	name := os.Getenv(asClient)
	if name == "" {
		t.Skip("is started by another test")
	}
	n := open(t, name, "n11")
	run(t, n, "sleep", "1000")
}

// All of it runs for a user without rights, whose namespaces are of users too.
func TestAUserWithoutRights(t *testing.T) {
	testenv.Raced(t)
	rig.WithoutRights(t, "^(TestProgramsTalk|TestProgramsOf|TestAProgramEnds|TestAReport|TestNothing)",
		"TestProgramsTalkThroughTheFabric", "TestNothingIsLeftWhateverIsKilled/the_namespace")
}
