package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// written is what a file should hold.
type written struct {
	wire     int
	at       time.Time
	rec      Record
	comments []string
}

var twoWires = []Interface{
	{
		Name:        "s0.00->s1.00",
		Description: "link s0.00-s1.00 of fabric lab, kary-ntree:4,3: from s0.00 port 0 to s1.00 port 4",
	},
	{Name: "s1.00->s0.00", Description: "the way back"},
}

// sample writes a file with a record of every kind.
func sample(t *testing.T) (file []byte, want []written) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	traced := full(t)
	plain := Record{
		Kind: KindPacket, SrcName: "n0", DstName: "n1", Packets: 1, From: 1, To: 1,
		Header: weft.Header{Dst: 1, Seq: 1<<63 + 1, Size: 20, Fields: weft.NewFields()}, // shorter than its record
	}
	port := plain
	port.Header.PortField, port.Header.Injected, port.Header.Sub = 5, -1, weft.SubHeaders{weft.Nowhere}
	want = []written{
		{0, at, traced, nil},
		{1, at.Add(time.Nanosecond), plain, nil},
		{1, at.Add(time.Second), Record{
			Kind: KindMark, State: StateSilent,
			Text: "cut of s0.00-s1.00, silently\nsecond line",
		}, []string{"cut of s0.00-s1.00", "fault 3"}},
		{0, at.Add(2 * time.Second), port, nil},
		{0, at.Add(3 * time.Second), Record{Kind: KindMark}, nil},
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, "linkmon", "fabric lab, kary-ntree:4,3", twoWires)
	require.NoError(t, err)
	for _, x := range want {
		require.NoError(t, w.Write(x.wire, x.at, &x.rec, append([]string(nil), x.comments...)...))
	}
	w.Missed(1, 7)
	require.NoError(t, w.Close(at, at.Add(time.Minute)))
	return out.Bytes(), want
}

func TestAFileReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	file, want := sample(t)
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	require.Equal(t, "fabric lab, kary-ntree:4,3", r.SectionInfo().Comment)
	require.Equal(t, "linkmon", r.SectionInfo().Application)
	for _, x := range want {
		data, ci, opts, err := r.ReadPacketDataWithOptions()
		require.NoError(t, err)
		require.Equal(t, x.rec, Decode(t, data))
		require.Equal(t, x.wire, ci.InterfaceIndex)
		require.True(t, x.at.Equal(ci.Timestamp), "%v, not %v", ci.Timestamp, x.at)
		require.Equal(t, x.comments, opts.Comments)
		require.Equal(t, max(len(data), int(x.rec.Header.Size)), ci.Length)
	}
	_, _, err = r.ReadPacketData()
	require.ErrorIs(t, err, io.EOF)
	for i, x := range twoWires {
		got, err := r.Interface(i)
		require.NoError(t, err)
		require.Equal(t, []any{x.Name, x.Description, LinkType}, []any{got.Name, got.Description, got.LinkType})
		require.Equal(t, []uint64{[]uint64{2, 8}[i], uint64(7 * i)},
			[]uint64{got.Statistics.PacketsReceived, got.Statistics.PacketsDropped})
	}
}

func TestAWriterRefusesToHaveNoInterface(t *testing.T) {
	t.Parallel()
	_, err := NewWriter(io.Discard, "a", "c", nil)
	require.EqualError(t, err, "capture: no interface: there is nothing to capture")
}

// closed is a pipe whose reader has gone.
type closed struct{}

var errGone = errors.New("gone")

func (closed) Write([]byte) (int, error) { return 0, errGone }

func TestAWriterTellsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	w, err := NewWriter(closed{}, "a", "c", twoWires)
	require.NoError(t, err, "nothing has been handed over yet")
	require.ErrorIs(t, w.Flush(), errGone)
	require.ErrorIs(t, w.Close(time.Now(), time.Now()), errGone)
}

func TestALongCommentIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{"", "a", "ab", "abc"} {
		got := shorten(lead + strings.Repeat("€", 3000))
		require.LessOrEqual(t, len(got), maxComment)
		require.Greater(t, len(got), maxComment-4)
		require.True(t, strings.HasSuffix(got, "€"))
	}
	require.Equal(t, "short", shorten("short"))
}

// tshark reads a file with the dissector, as Wireshark does, and returns a layer of each packet.
func tshark(t *testing.T, file []byte, args ...string) string {
	t.Helper()
	testenv.Need(t, "tshark", "tshark")
	dir := t.TempDir()
	in, script := filepath.Join(dir, "in.pcapng"), filepath.Join(dir, "weft.lua")
	require.NoError(t, os.WriteFile(in, file, 0o600))
	require.NoError(t, os.WriteFile(script, []byte(Dissector), 0o600))
	cmd := exec.Command("tshark", append([]string{"-X", "lua_script:" + script, "-r", in}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir) // not the preferences of who runs this
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	require.NotContains(t, strings.ToLower(errs.String()), "lua:", "the script has an error")
	return string(out)
}

// dissected is the layers of one packet. A field that comes several times has several values.
type dissected map[string]any

func (d dissected) layer(name string) map[string]any {
	fields, _ := d[name].(map[string]any)
	return fields
}

func dissect(t *testing.T, file []byte) (packets []dissected) {
	t.Helper()
	var list []struct {
		Source struct {
			Layers dissected `json:"layers"`
		} `json:"_source"`
	}
	out := tshark(t, file, "-T", "json", "--no-duplicate-keys")
	require.NoError(t, json.Unmarshal([]byte(out), &list), out)
	for _, p := range list {
		packets = append(packets, p.Source.Layers)
	}
	return packets
}

func TestWiresharkShowsEveryFieldAsItWasWritten(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	file, want := sample(t)
	got := dissect(t, file)
	require.Len(t, got, len(want))
	for i, x := range want {
		frame, fields := got[i].layer("frame"), got[i].layer("weft")
		require.Equal(t, fmt.Sprint(x.wire), frame["frame.interface_id"])
		names := frame["frame.interface_id_tree"].(map[string]any)
		require.Equal(t, twoWires[x.wire].Name, names["frame.interface_name"])
		require.Equal(t, twoWires[x.wire].Description, names["frame.interface_description"])
		require.Equal(t, fmt.Sprintf("%d.%09d", x.at.Unix(), x.at.Nanosecond()), frame["frame.time_epoch"])
		require.Equal(t, fmt.Sprint(Version), fields["weft.version"])
		require.Equal(t, fmt.Sprint(x.rec.Kind), fields["weft.kind"])
		require.Equal(t, fmt.Sprint(uint8(x.rec.State)), fields["weft.state"])
		if x.rec.Kind == KindMark {
			if x.rec.Text != "" {
				require.Contains(t, strings.ReplaceAll(fields["weft.text"].(string), "\\n", "\n"), x.rec.Text)
			}
			continue
		}
		h := x.rec.Header
		require.Equal(t, map[bool]string{true: "1", false: "0"}[h.Traced], fields["weft.traced"])
		for name, value := range map[string]any{
			"vc": uint8(h.VC), "era": h.Generation, "src": uint32(h.Src), "dst": uint32(h.Dst),
			"src_name": x.rec.SrcName, "dst_name": x.rec.DstName,
			"seq": h.Seq, "injected": int64(h.Injected), "size": h.Size, "hops": h.Hops, "reroutes": h.Reroutes,
			"port_field":  h.PortField,
			"frame.index": x.rec.Index, "frame.packets": x.rec.Packets, "misroute": fmt.Sprintf("0x%016x", h.Misroute),
			"path": h.Path, "layers": fmt.Sprintf("0x%04x", h.Layers),
			"epoch": uint32(x.rec.From), "peer_epoch": uint32(x.rec.To), "sent": x.rec.Sent, "limit": x.rec.Limit,
			"flow": x.rec.SrcName + ">" + x.rec.DstName,
		} {
			require.Equal(t, fmt.Sprint(value), fields["weft."+name], name)
		}
		if h.Route.Len() > 0 {
			require.Equal(t, h.Route.String(), fields["weft.route"])
		} else {
			require.NotContains(t, fields, "weft.route")
		}
		if h.Sub.Len() > 0 {
			require.Equal(t, h.Sub.String(), fields["weft.sub"])
		} else {
			require.NotContains(t, fields, "weft.sub")
		}
	}
	comments := got[2].layer("pkt_comment")["frame.comment"]
	require.Equal(t, []any{"cut of s0.00-s1.00", "fault 3"}, comments)
}

// segment is a packet of TCP from port 40000 of 10.64.0.1 to port 80 of 10.64.0.4, with five bytes.
var segment = append([]byte{
	0x45, 0, 0, 45, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 64, 0, 1, 10, 64, 0, 4,
	0x9c, 0x40, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x18, 16, 0, 0, 0, 0, 0,
}, "hello"...)

// What a packet carries is shown as what it is.
func TestWiresharkShowsWhatAPacketCarries(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var out bytes.Buffer
	w, err := NewWriter(&out, "", "", twoWires[:])
	require.NoError(t, err)
	r := full(t)
	r.Payload = segment
	require.NoError(t, w.Write(0, time.Unix(1, 0), &r))
	require.NoError(t, w.Flush())
	require.Equal(t, "13\t10.64.0.4\t80\t68656c6c6f",
		strings.TrimSpace(tshark(t, out.Bytes(), "-T", "fields", "-e", "weft.vc",
			"-e", "ip.dst", "-e", "tcp.dstport", "-e", "tcp.payload")))
}

func TestWiresharkListsPacketsAndMarksReadably(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	file, _ := sample(t)
	columns := regexp.MustCompile(` +`) // of which widths differ
	lines := columns.ReplaceAllString(tshark(t, file), " ")
	const mark = " 3 1.000000000 → Weft 46 -- cut of s0.00-s1.00, silently second line\n"
	require.Equal(t,
		" 1 0.000000000 n000 → n133 Weft 1500 vc13 n000 > n133 #1125899906842624 300 hops, rerouted [impaired]\n"+
			" 2 0.000000001 n0 → n1 Weft 89 vc0 n0 > n1 #9223372036854775809 0 hops\n"+mark+
			" 4 2.000000000 n0 → n1 Weft 97 vc0 n0 > n1 #9223372036854775809 0 hops\n 5 3.000000000 → Weft 6 -- \n", lines)
	require.Len(t,
		strings.Split(strings.TrimSpace(tshark(t, file, "-Y", "weft.traced == 1 && weft.route == \"p255,p0,p17\"")), "\n"), 1)
	require.Equal(t, mark, columns.ReplaceAllString(tshark(t, file, "-Y", "frame.comment contains \"fault 3\""), " "))
}

// Whatever a file holds, the dissector says so and does not break.
func TestTheDissectorBearsRecordsThatAreNone(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	r := full(t)
	good := Append(nil, &r)
	var out bytes.Buffer
	w, err := NewWriter(&out, "linkmon", "", twoWires)
	require.NoError(t, err)
	records := [][]byte{
		{},
		{1},
		{9, 1, 0, 0},
		{1, 2, 0, 0, 0, 9, 'x'},
		{1, 7, 0, 0},
		good[:20], good[:77], good[:79],
		good[:82], good[:len(good)-1],
	}
	for _, data := range records {
		w.buf = data
		require.NoError(t, w.raw(0, time.Unix(1, 0), len(data)))
	}
	require.NoError(t, w.Close(time.Unix(1, 0), time.Unix(2, 0)))
	lines := strings.Split(strings.TrimSpace(
		tshark(t, out.Bytes(), "-T", "fields", "-e", "_ws.expert.message", "-e", "_ws.lua.error")), "\n")
	require.Len(t, lines, len(records))
	for i, line := range lines[1:] {
		want := "Record cut short"
		if i == 1 {
			want = "Layout of another version"
		}
		require.True(t, strings.HasSuffix(strings.TrimSpace(line), want), "%v: %s", records[i+1], line)
	}
}
