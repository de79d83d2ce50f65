package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"go.uber.org/goleak"

	switching "github.com/weft-fabric/weft/switch"
)

// TestMain runs the tests, or is a program that is run as firmware by one of them.
func TestMain(m *testing.M) {
	if how := os.Getenv("WEFT_TEST_PROGRAM"); how != "" {
		program(how)
		return
	}
	goleak.VerifyTestMain(m)
}

// told is what a program gets.
type told struct {
	Version   int               `json:"version"`
	Options   map[string]string `json:"options"`
	Place     *int              `json:"place"`
	ID        int               `json:"id"`
	Name      string            `json:"switch"`
	Ports     []port            `json:"ports"`
	Batch     uint64            `json:"batch"`
	Questions []*question       `json:"questions"`
}

// program is a firmware that sends each packet out of the port by the number of its destination,
// and has the faults that how names.
func program(how string) {
	in := bufio.NewReader(os.Stdin)
	h := hello{
		Version: Version, Name: "program", About: "for tests", Tolerates: []string{"links", "one"},
		Options: []switching.Option{{Name: "a"}},
	}
	packed := strings.Contains(how, "msgpack")
	if packed {
		h.Format = "msgpack"
	}
	h.DestinationBased = strings.Contains(how, "remembered")
	if strings.Contains(how, "registers") {
		h.Registers = []register{{Name: "r", Width: 4, ExpireSeconds: 1}}
	}
	switch how {
	case "changes":
		h.About = fmt.Sprint(os.Getpid())
	case "reads":
		h.Reads = []string{"queues", "draw", "now"}
	case "version":
		h.Version = 2
	case "refuses":
		h.Error = "a is not what it should be"
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "dies at once":
		fmt.Fprintln(os.Stderr, "my last words")
		os.Exit(3)
	}
	say := func(v any) {
		if packed && h.Format == "" {
			var b bytes.Buffer
			e := msgpack.NewEncoder(&b)
			e.SetCustomStructTag("json")
			_ = e.Encode(v)
			_, _ = os.Stdout.Write(append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...))
			return
		}
		_ = json.NewEncoder(os.Stdout).Encode(v)
	}
	hear := func(v any) bool {
		if packed && h.Format == "" {
			var size [4]byte
			if _, err := io.ReadFull(in, size[:]); err != nil {
				return false
			}
			b := make([]byte, binary.BigEndian.Uint32(size[:]))
			_, _ = io.ReadFull(in, b)
			d := msgpack.NewDecoder(bytes.NewReader(b))
			d.SetCustomStructTag("json")
			return d.Decode(v) == nil
		}
		line, err := in.ReadBytes('\n')
		return err == nil && json.Unmarshal(line, v) == nil
	}
	places := map[int]string{}
	for {
		var m told
		if !hear(&m) {
			return
		}
		switch {
		case m.Version != 0:
			h.About += m.Options["a"]
			say(h)
			h.Format = "" // its own way from now on
		case m.Place != nil:
			places[*m.Place] = fmt.Sprint(m.Name, " ", m.ID, " ", len(m.Ports))
		default:
			a := batch{Batch: m.Batch}
			for _, q := range m.Questions {
				a.Answers = append(a.Answers, reply(how, q))
				if how == "places" {
					a.Answers[len(a.Answers)-1] = answer{Rule: places[q.Place]}
				}
			}
			switch {
			case how == "silent", how == "sometimes silent" && m.Questions[0].Header.Dst == 9:
				continue
			case how == "dies", how == "changes", how == "sometimes dies" && m.Questions[0].Header.Dst == 9:
				os.Exit(1)
			case strings.HasSuffix(how, "garbage"):
				fmt.Println("Hello, world")
			case how == "too long":
				fmt.Println(strings.Repeat("x", MaxMessage+1))
			case how == "unknown field":
				fmt.Printf(`{"batch":%d,"answers":[{"candidate":[]}]}`+"\n", m.Batch)
			case how == "too few":
				a.Answers = a.Answers[1:]
				say(a)
			case how == "another batch":
				a.Batch++
				say(a)
			default:
				say(a)
			}
		}
	}
}

func reply(how string, q *question) answer {
	a := answer{Rule: "by number", Candidates: []candidate{{Port: int(q.Header.Dst)}}}
	switch how {
	case "port":
		a.Candidates[0].Port = 99
	case "vc":
		a.Candidates[0].VC = -1
	case "class":
		a.Candidates[0].Class = 256
	case "many":
		a.Candidates = slices.Repeat(a.Candidates, 1000)
	case "register":
		a.Writes = map[string]uint64{"x": 1}
	case "registers":
		a.Writes = map[string]uint64{"r": q.State["r"] + 5}
	case "two":
		a.Writes = map[string]uint64{"x": 1, "y": 2}
	case "turn":
		a.Turn = "left"
	case "rule":
		a.Rule = strings.Repeat("r", 300)
	case "field":
		a.Candidates[0].Fields = &fields{PortField: new(-7)}
	case "fields":
		a.Turn, a.Notify = "u-turn", true
		a.Candidates[0].Fields = &fields{
			PortField: new(3), Misroute: new(uint64(5)), Path: new(7), Layers: new(2),
			Route: new("p4,p1"), Sub: new(""),
		}
	case "reads":
		a.Rule = fmt.Sprint(q.Queues[3], q.Random, int64(q.Now), *q.Header.Src, q.Header.Seq, q.Header.Size, q.Header.Hops,
			q.Dead, q.From)
	}
	return a
}
