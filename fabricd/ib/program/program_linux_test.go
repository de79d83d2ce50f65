package program

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/harness/rig"
)

// asOwner has this test binary start a program and wait for it, until it is killed.
const asOwner = "WEFT_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(asOwner) != "" {
		own()
	}
	goleak.VerifyTestMain(m)
}

func own() {
	c := exec.Command("sleep", "1000")
	wait, err := Start(c)
	if err == nil {
		fmt.Println(c.Process.Pid)
		err = wait()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A program dies with the process that has started it, when that is killed and can do nothing any
// more.
func TestAProgramDiesWithWhoeverStartedIt(t *testing.T) {
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), asOwner+"=1")
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	defer func() { _ = owner.Wait() }() // it was killed
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	require.NoError(t, owner.Process.Kill())
	rig.Until(t, func() bool { return gone(pid) }, "process %d lives on", pid)
}

// gone reports whether a process has ended; nobody may have waited for it yet.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// A program that is not there is an error, and one that ends badly another.
func TestStartTellsWhatCameOfAProgram(t *testing.T) {
	_, err := Start(exec.Command("/nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	wait, err := Start(exec.Command("false"))
	require.NoError(t, err)
	require.Error(t, wait())
}

// A fabric that nobody serves is known before a program waits for it.
func TestAFabricThatNobodyServesIsKnown(t *testing.T) {
	name := fmt.Sprintf("weft-served-%d", os.Getpid())
	require.False(t, served(name))
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: "@" + name + ":ctl\x00"})
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.True(t, served(name))
}
