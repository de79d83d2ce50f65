package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func config(t testing.TB, how string) Config {
	path, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("WEFT_TEST_PROGRAM", how)
	return Config{Path: path, Silence: time.Minute}
}

// start starts the program that is this one with some faults.
func startProgram(t testing.TB, c Config) *Process {
	p, err := Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// standing is a leaf of a tree of 4 ports that stands still, with port 3 dead.
func standing(t testing.TB) *switching.Still {
	g, err := topology.Parse("kary-ntree:2,2")
	require.NoError(t, err)
	s := &switching.Still{At: g.Place(2), Free: 2, Random: 11, Time: 13, Registers: []uint64{3}}
	s.Dead.Add(3)
	return s
}

func ask(view switching.View, dsts ...weft.NICID) (asks []*switching.Ask) {
	for i, dst := range dsts {
		h := weft.Header{Dst: dst, Src: 1, Seq: uint64(i), Size: 256, Hops: 2, Fields: weft.NewFields()}
		asks = append(asks, &switching.Ask{Packet: h, At: switching.Arrival{Port: 1, From: weft.RoleNIC}, View: view})
	}
	return asks
}

func TestAProgramDecidesForManyPacketsAtOnce(t *testing.T) {
	for _, how := range []string{"json", "msgpack", "json remembered", "msgpack remembered"} {
		t.Run(how, func(t *testing.T) {
			c := config(t, how)
			c.Options = map[string]string{"a": ", with an option"}
			p := startProgram(t, c)
			fw := p.Firmware
			require.Equal(t, "program", fw.Name)
			require.Equal(t, "for tests, with an option", fw.About)
			require.Equal(t, switching.Tolerance{Links: true, One: true}, fw.Tolerance)
			asks := ask(standing(t), 0, 3, 2)
			fw.Batch(asks)()
			for _, k := range asks {
				require.NoError(t, k.Err)
				require.Equal(t, switching.Decision{
					Rule: "by number", Candidates: []switching.Candidate{{Port: weft.PortID(k.Packet.Dst), Fields: weft.NewFields()}},
				}, k.Decision)
			}
			require.Equal(t, asks[1].Decision, fw.Route(&asks[1].Packet, asks[1].At, asks[1].View))
		})
	}
}

func TestAProgramIsToldWhatItReadsAndSetsFields(t *testing.T) {
	p := startProgram(t, config(t, "reads"))
	k := ask(standing(t), 1)
	p.Firmware.Batch(k)()
	require.NoError(t, k[0].Err)
	require.Equal(t, "[2 0 2] 11 13 1 0 256 2 [p3]nic", k[0].Decision.Rule)

	fields := startProgram(t, config(t, "fields")).Firmware
	k = ask(standing(t), 1)
	fields.Batch(k)()
	require.NoError(t, k[0].Err)
	route, err := weft.ParseSourceRoute("p4,p1")
	require.NoError(t, err)
	require.Equal(t, weft.Fields{PortField: 3, Misroute: 5, Path: 7, Layers: 2, Route: route},
		k[0].Decision.Candidates[0].Fields)
	require.Equal(t, switching.UTurn, k[0].Decision.Turn)
	require.True(t, k[0].Decision.Notify)

	registers := startProgram(t, config(t, "registers")).Firmware
	require.Equal(t, []switching.Register{{Name: "r", Width: 4, Expire: weft.Second}}, registers.Registers(nil))
	k = ask(standing(t), 1)
	registers.Batch(k)()
	require.NoError(t, k[0].Err)
	require.Equal(t, switching.RegisterWrite{Do: true, Value: 8}, k[0].Decision.Write)
	k[0].View.(*switching.Still).Registers[0] = 15
	registers.Batch(k)()
	require.ErrorContains(t, k[0].Err, "it writes 10100 to register r, which has 4 bits: declare it wider in hello")
}

func TestWhatIsBasedOnDestinationsIsAskedOnce(t *testing.T) {
	p := startProgram(t, config(t, "sometimes dies remembered"))
	fw := p.Firmware
	view := standing(t)
	fw.Batch(ask(view, 0, 1))()
	asked := func() uint64 {
		p.turn <- struct{}{}
		defer func() { <-p.turn }()
		return p.run.batches
	}
	require.EqualValues(t, 1, asked())
	k := ask(view, 1, 0)
	fw.Batch(k)()
	require.EqualValues(t, 1, asked())
	require.Equal(t, weft.PortID(1), k[0].Decision.Candidates[0].Port)
	for i, change := range []func(k *switching.Ask){
		func(*switching.Ask) { view.Dead.Add(2) },
		func(*switching.Ask) { view.Channels = 2 },
		func(k *switching.Ask) { k.At.Port = 0 },
		func(k *switching.Ask) { k.Packet.Misroute = 1 },
		func(k *switching.Ask) { k.Packet.Dst = 2 },
	} {
		k := ask(view, 1)
		change(k[0])
		fw.Batch(k)()
		require.NoError(t, k[0].Err)
		require.EqualValues(t, i+2, asked())
	}
	registers := startProgram(t, config(t, "registers remembered"))
	for _, value := range []uint64{3, 3, 4} {
		view.Registers[0] = value
		k := ask(view, 1)
		registers.Firmware.Batch(k)()
		require.NoError(t, k[0].Err)
	}
	require.EqualValues(t, 2, registers.run.batches)
	m := &memory{}
	for i := range maxKept + 2 {
		m.keep(memoryKey{dst: weft.NICID(i)}, switching.Decision{})
	}
	require.LessOrEqual(t, len(m.known), maxKept)
}

// Each error names the program, the switch, the packet, the rule, and what to do.
func TestAnAnswerThatCannotBeIsAnErrorOfItsPacketAlone(t *testing.T) {
	for how, want := range map[string]string{
		"port":     `it names port 99, virtual channel 0: the ports of the switch are 0 to 3, its virtual channels 0 to 0`,
		"vc":       `it names port 1, virtual channel -1: the ports of the switch are 0 to 3`,
		"class":    `it names class 256, need 0: both are 0 to 255`,
		"many":     `an answer too long: it names 1000 candidates, of 4 ports and 1 virtual channels: name each`,
		"register": `it writes register "x", which it does not declare: declare it in hello`,
		"two":      `it writes 2 registers, and may write one: write one of them`,
		"turn":     `its turn is "left": answer straight, reroute or u-turn`,
		"field":    `port_field is -7, expected -2 to 255: fields are as docs/reference/exec.md says`,
		"rule":     `its rule has more than 256 bytes: shorten it`,
	} {
		t.Run(how, func(t *testing.T) {
			p := startProgram(t, config(t, how))
			k := ask(standing(t), 1)
			p.Firmware.Batch(k)()
			rule := "by number"
			if how == "rule" {
				rule = strings.Repeat("r", maxText)
			}
			require.ErrorContains(t, k[0].Err,
				fmt.Sprintf("firmware %s at s1.0, packet 0 of 1 -> 1, which came by p1 in vc0: rule %q: %s", p.cfg.Path, rule,
					want))
			require.Contains(t, p.Firmware.Route(&k[0].Packet, k[0].At, k[0].View).Rule, switching.RuleNoAnswer)
			require.NoError(t, p.run.ctx.Err(), "it goes on")
		})
	}
}

func TestAProgramThatFailsIsStartedAgain(t *testing.T) {
	for how, want := range map[string]string{
		"silent":   "no answer within",
		"dies":     "it ended: exit status 1",
		"garbage":  `invalid character 'H' looking for beginning of value, in "Hello, world"`,
		"too long": "a message of more than 1048576 bytes", "too few": "it gives 0 answers to 1 questions",
		"another batch": "it answers batch 2, which nobody asked", "unknown field": `unknown field "candidate"`,
		"msgpack garbage": "a message of more than 1048576 bytes",
	} {
		t.Run(how, func(t *testing.T) {
			c := config(t, how)
			if how == "silent" {
				c.Silence = time.Second
			}
			var log logged
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			p := startProgram(t, c)
			for range 2 {
				k := ask(standing(t), 1)
				p.Firmware.Batch(k)()
				require.ErrorContains(t, k[0].Err, want)
				require.ErrorContains(t, k[0].Err, "look at what it prints on its standard error; it is started again")
			}
			p.Close()
			require.Contains(t, log.text.String(), "firmware ended, and is started again")
		})
	}
}

func TestAProgramThatEndsAgainAndAgainIsStartedLaterEachTime(t *testing.T) {
	c := config(t, "dies")
	var log logged
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	p := startProgram(t, c)
	for i := range 4 {
		if i == 3 {
			p.run.began = time.Time{} // it has run for long
		}
		k := ask(standing(t), 1)
		p.batch(k)()
		require.Error(t, k[0].Err)
	}
	p.Close()
	require.Equal(t, []string{" after=100ms", " after=200ms", " after=100ms"},
		regexp.MustCompile(` after=\w+`).FindAllString(log.text.String(), -1))
}

func TestAProgramThatDeclaresSomethingElseWhenItIsStartedAgainIsEnded(t *testing.T) {
	p := startProgram(t, config(t, "changes"))
	for _, want := range []string{
		"it ended: exit status 1",
		"it declares something else than when it was started first: start the command again",
	} {
		k := ask(standing(t), 1)
		p.batch(k)()
		require.ErrorContains(t, k[0].Err, want)
	}
}

// A program that fails has failed all who wait together, and not each of them one after the other.
func TestASilentProgramIsSilentToAll(t *testing.T) {
	c := config(t, "silent")
	c.Silence = time.Second
	var log logged
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	p := startProgram(t, c)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			k := ask(standing(t), 1)
			p.batch(k)()
			assert.ErrorContains(t, k[0].Err, "no answer within 1s")
		})
	}
	wg.Wait()
	p.Close()
	require.LessOrEqual(t, strings.Count(log.text.String(), "is started again"), 1, "those who came later waited together")
}

// What a program has started may hold its output open, and does not hold us up.
func TestAProgramMayEndBeforeWhatItHasStarted(t *testing.T) {
	testenv.Need(t, "setsid", "util-linux")
	file := t.TempDir() + "/fw"
	t.Cleanup(func() {
		text, err := os.ReadFile(file + ".pid")
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		child, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, child.Kill(), "it runs yet")
	})
	require.NoError(t, os.WriteFile(file, []byte(`#!/bin/sh
read line
echo '{"version":1,"name":"x"}'
setsid sleep 60 </dev/null &
echo $! >"$0.pid"
read place
exit 3
`), 0o700))
	p := startProgram(t, Config{Path: file, Silence: time.Minute})
	k := ask(standing(t), 1)
	p.batch(k)()
	require.ErrorContains(t, k[0].Err, "it ended: exit status 3")
}

func TestRulesAreBounded(t *testing.T) {
	p := &Process{rules: map[string]bool{}}
	for i := range maxRules + 1 {
		_, err := p.decision(&asked{place: standing(t).At}, &answer{Rule: fmt.Sprint(i)})
		require.Equal(t, i == maxRules, err != nil)
	}
	_, err := p.decision(&asked{place: standing(t).At}, &answer{Rule: "5"})
	require.NoError(t, err)
}

func TestAProgramThatFailedOnceServesOn(t *testing.T) {
	for _, how := range []string{"sometimes dies", "sometimes silent"} {
		c := config(t, how)
		if how == "sometimes silent" {
			c.Silence = time.Second
		}
		p := startProgram(t, c)
		k := ask(standing(t), 9)
		p.Firmware.Batch(k)()
		require.Error(t, k[0].Err)
		k = ask(standing(t), 1)
		p.Firmware.Batch(k)()
		require.NoError(t, k[0].Err, "it is told the places again")
	}
}

func TestSeveralAskAProgramAtOnce(t *testing.T) {
	p := startProgram(t, config(t, "json"))
	view := standing(t)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 50 {
				k := ask(view, weft.NICID(n%4), 1)
				p.batch(k)()
				assert.NoError(t, k[0].Err)
				assert.Equal(t, weft.PortID(n%4), k[0].Decision.Candidates[0].Port)
			}
		})
	}
	wg.Wait()
}

func TestWhatCannotBeStarted(t *testing.T) {
	for how, want := range map[string]string{
		"version":      "it speaks version 2 of the protocol, expected 1",
		"refuses":      "it refuses its options: a is not what it should be",
		"mute":         "its hello: no answer within 4s: does it flush what it prints?: docs/reference/exec.md",
		"dies at once": `it ended: exit status 3; the last that it printed: "my last words"`,
	} {
		c := config(t, how)
		if how == "mute" {
			c.Silence = time.Second
		}
		_, err := Start(t.Context(), c)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, c.Path)
	}

	file := t.TempDir() + "/fw"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Start(t.Context(), Config{Path: file})
	require.ErrorContains(t, err, "permission denied: is it a program, executable (chmod +x), ")
	_, err = Start(t.Context(), Config{Path: file + "x"})
	require.ErrorContains(t, err, "no such file")
}

func TestWhoeverWaitsWhenAProgramIsClosedGetsAnError(t *testing.T) {
	p := startProgram(t, config(t, "silent"))
	k := ask(standing(t), 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.batch(k)()
	}()
	p.Close()
	<-done
	require.ErrorContains(t, k[0].Err, errClosed.Error())
	p.batch(k)()
	require.ErrorContains(t, k[0].Err, errClosed.Error())
}

// Switches of one number, of several topologies, are told apart.
func TestAProgramIsToldWhereASwitchStands(t *testing.T) {
	p := startProgram(t, config(t, "places"))
	leaf := standing(t)
	g, err := topology.Parse("ring:5")
	require.NoError(t, err)
	other := &switching.Still{At: g.Place(2), Channels: 2}
	for range 3 {
		k := append(ask(leaf, 1, 2), ask(other, 1)...)
		p.batch(append(k, ask(leaf, 3)...))()
		for i, want := range []string{"s1.0 2 4", "s1.0 2 4", "s2 2 3"} {
			require.NoError(t, k[i].Err)
			require.Equal(t, want, k[i].Decision.Rule)
		}
		require.LessOrEqual(t, len(p.run.places), maxPlaces)
		clear(p.run.places)
		for len(p.run.places) < maxPlaces {
			p.run.places[new(weft.Place)] = -1 // they are too many for another batch
		}
	}
}

func TestHelloIsChecked(t *testing.T) {
	good := func() hello { return hello{Version: Version, Name: "x"} }
	_, err := new(good()).firmware()
	require.NoError(t, err)
	for want, spoil := range map[string]func(h *hello){
		"no name":      func(h *hello) { h.Name = "" },
		"on=":          func(h *hello) { h.On = "rings" },
		"vcs=":         func(h *hello) { h.VCs = 17 },
		"max_hops=":    func(h *hello) { h.MaxHops = -1 },
		"65 registers": func(h *hello) { h.Registers = make([]register, 65) },
		"of 65 bits":   func(h *hello) { h.Registers = []register{{Name: "r", Width: 65}} },
		"for -1 s":     func(h *hello) { h.Registers = []register{{Name: "r", Width: 1, ExpireSeconds: -1}} },
		"format=":      func(h *hello) { h.Format = "xml" },
		"reads":        func(h *hello) { h.Reads = []string{"minds"} },
		"tolerates":    func(h *hello) { h.Tolerates = []string{"rain"} },
	} {
		h := good()
		spoil(&h)
		_, err := h.firmware()
		require.ErrorContains(t, err, want)
	}
}

// FuzzReader reads what any program may write.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"batch":1,"answers":[{"candidates":[{"port":1,"fields":{"misroute":5}}],"writes":{"r":1}}]}`+"\n"),
		false)
	var b bytes.Buffer
	m := messages{out: &b, packed: true}
	m.write(batch{Batch: 1, Answers: []answer{{
		Rule: "r", Writes: map[string]uint64{"r": 3},
		Candidates: []candidate{{Fields: &fields{Route: new("p1")}}},
	}}})
	f.Add(b.Bytes(), true)
	view := standing(f)
	p := &Process{rules: map[string]bool{}, hello: hello{Registers: []register{{Name: "r", Width: 4}}}}
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		m := newMessages(bytes.NewReader(text), nil)
		m.packed = packed
		for {
			var a batch
			if err := m.read(&a); err != nil {
				return
			}
			for i := range a.Answers {
				d, err := p.decision(&asked{Ask: ask(view, 1)[0], place: view.At, question: question{VCs: 1}}, &a.Answers[i])
				require.True(t, err == nil || strings.Contains(err.Error(), ": "), "it says what to do")
				for _, c := range d.Candidates {
					require.Less(t, int(c.Port), view.At.Ports())
				}
			}
			var h hello
			_ = json.Unmarshal(text, &h)
			_, _ = h.firmware()
		}
	})
}

func BenchmarkBatch(b *testing.B) {
	for _, how := range []string{"json", "msgpack"} {
		b.Run(how, func(b *testing.B) {
			p := startProgram(b, config(b, how))
			dsts := make([]weft.NICID, switching.MaxAsks)
			for i := range dsts {
				dsts[i] = weft.NICID(i % 4)
			}
			k := ask(standing(b), dsts...)
			for b.Loop() {
				p.batch(k)()
			}
			b.ReportMetric(float64(b.N*len(k))/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}
