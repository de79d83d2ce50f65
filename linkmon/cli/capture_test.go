package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/linkmon/capture"
)

// onBroker runs a small fabric whose links are subjects, as fabricd up does, with traffic.
func onBroker(t *testing.T) *fabric.Fabric {
	t.Helper()
	ownRegistry(t)
	return registered(t, live.Config{Name: "lab", Harness: []harness.Option{
		harness.NoLiveness(),
		harness.Traffic("uniform:0.3"),
	}}).Fabric
}

func records(t *testing.T, in io.Reader) (names map[string]int, all int) {
	t.Helper()
	r, err := pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	names = map[string]int{}
	for {
		data, ci, err := r.ReadPacketData()
		if err == io.EOF {
			return names, all
		}
		require.NoError(t, err)
		require.EqualValues(t, capture.Version, data[0])
		wire, err := r.Interface(ci.InterfaceIndex)
		require.NoError(t, err)
		names[wire.Name]++
		all++
	}
}

func TestCaptureWritesAFileAndSaysWhatIsInIt(t *testing.T) {
	onBroker(t)
	file := filepath.Join(t.TempDir(), "x.pcapng")
	out, errs, code := linkmon(t, "capture", "s0.0", "s1.0", "-w", file, "--count", "30")
	require.Zero(t, code, errs)
	require.Empty(t, out)
	require.Regexp(t,
		`^captured 30 packets and \d+ marks on 2 directions in .*: 0 packets lost on their way, 0 frames missed, 0 unreadable\n$`, errs)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	names, all := records(t, f)
	require.Equal(t, 30, all)
	require.Len(t, names, 2)
	require.Positive(t, names["s0.0->s1.0"])
	require.Positive(t, names["s1.0->s0.0"])
}

func TestCaptureToAPipeEndsQuietlyWhenItsReaderHasGone(t *testing.T) {
	onBroker(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = w.Close() }()
	cmd, errs := Command(), new(rig.Output)
	cmd.SetOut(w)
	cmd.SetErr(errs)
	cmd.SetArgs([]string{"capture", "--all", "-w", "-"})
	code := make(chan int, 1)
	go func() { code <- command.Run(t.Context(), cmd) }()
	live, err := pcapgo.NewNgReader(r, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	for range 20 { // they come as they are captured, not at the end
		_, _, err := live.ReadPacketData()
		require.NoError(t, err)
	}
	require.NoError(t, r.Close())
	require.Zero(t, <-code, errs)
	require.Empty(t, errs.String())
}

func TestCaptureThatIsInterruptedLeavesAWholeFile(t *testing.T) {
	onBroker(t)
	out, stop := background(t, "capture", "--all", "-w", "-")
	out.Await(t, "s1.1->n11") // an interface
	began := len(out.String())
	rig.Until(t, func() bool { return len(out.String()) >= began+10_000 })
	require.Zero(t, stop())
	_, all := records(t, bytes.NewReader([]byte(out.String())))
	require.Positive(t, all)
}

func TestCapturePrintsPacketsToATerminal(t *testing.T) {
	onBroker(t)
	out := ok(t, "capture", "s1.0", "--count", "5")
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 5)
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\d\.\d{6}  \S+->\S+ +vc0  n\d\d > n\d\d #\d+  256 bytes, \d hops$`, out)
	out = ok(t, "capture", "s1.0", "--count", "5", "--json")
	for line := range strings.Lines(out) {
		var l capture.Line
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		require.Contains(t, l.Wire, "s1.0")
		require.NotNil(t, l.VC)
		require.NotEmpty(t, l.Src)
		require.EqualValues(t, 256, l.Size)
	}
}

func TestCapturePrintsItsDissector(t *testing.T) {
	t.Parallel()
	require.Equal(t, capture.Dissector, ok(t, "capture", "--dissector"))
}

func TestCaptureOfAFabricInMemoryIsRefused(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	_, errs, code := linkmon(t, "capture", "--all")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: capture of fabric \"lab\": its links are in memory, where nobody else can hear them: run "+
		"it with fabricd up, whose links are NATS subjects\n", errs)
}
