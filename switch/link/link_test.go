package link

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-fabric/weft"
)

// frame is a frame on a wire with what the model knows of its packets.
type frame struct {
	weft.Frame
	seen bool // it has been delivered once
}

// side is one end with the wire that leads to it.
type creditSide struct {
	End
	in []frame // first to arrive first
}

// link is two ends joined by two FIFO wires.
type creditLink struct {
	t    testing.TB
	a, b creditSide
}

func newCreditLink(t testing.TB, c Config) *creditLink {
	return &creditLink{t: t, a: creditSide{End: New(c)}, b: creditSide{End: New(c)}}
}

// upLink is a link whose ends are up and whose wires are empty.
func upCreditLink(t testing.TB, c Config) *creditLink {
	t.Helper()
	l := newCreditLink(t, c)
	l.a.Signal(0, true)
	l.b.Signal(0, true)
	l.settle()
	l.want("A up 1/1, B up 1/1")
	return l
}

func (l *creditLink) other(s *creditSide) *creditSide {
	if s == &l.a {
		return &l.b
	}
	return &l.a
}

// send puts a frame with a packet per entry of vcs on the wire.
func (l *creditLink) send(s *creditSide, vcs ...weft.VC) {
	var f frame
	to := l.other(s)
	if !s.Stamp(0, &f.Frame) {
		if to.in = append(to.in, f); len(vcs) == 0 {
			return
		}
		f = frame{}
		s.Stamp(0, &f.Frame)
	}
	for _, vc := range vcs {
		s.Spend(vc)
		f.Packets = append(f.Packets, weft.Header{VC: vc})
	}
	to.in = append(to.in, f)
}

// deliver takes the next frame off the wire to s, or leaves it there to come again.
func (l *creditLink) deliver(s *creditSide, again bool) Verdict {
	f := &s.in[0]
	v, err := s.Receive(0, &f.Frame)
	if err != nil {
		l.t.Fatalf("frame %+v refused: %v", f.Frame, err)
	}
	if v.Accept {
		at := f.Sent
		for _, p := range f.Packets {
			if _, err := s.Take(p.VC, at[p.VC]); err != nil {
				l.t.Fatalf("packet refused: %v", err)
			}
			at[p.VC]++
		}
	}
	f.seen = true
	if !again {
		s.in = s.in[1:]
	}
	return v
}

// settle sends what is owed and delivers what is on the wires until there is neither.
func (l *creditLink) settle() {
	for range 1000 {
		quiet := true
		for _, s := range []*creditSide{&l.a, &l.b} {
			if s.Owes() {
				l.send(s)
				quiet = false
			}
			for len(s.in) > 0 {
				l.deliver(s, false)
				quiet = false
			}
		}
		if quiet {
			return
		}
	}
	l.t.Fatal("the ends go on exchanging frames for ever")
}

// run does the steps of a script: "A+" signal, "A-" no signal, "A>" A sends what it owes, ">A" the
// next frame reaches A, "=A" it does and comes again, "xA" it is lost, "A2>" A sends two packets,
// "Af" A frees one place, "A!" A gives up on B, "A?" it is time for a hello of A, "Aa" A asks, "Ah"
// A is held and "Ag" let go, ".." settle.
func (l *creditLink) run(script string) {
	l.t.Helper()
	ends := map[byte]*creditSide{'A': &l.a, 'B': &l.b}
	for _, step := range strings.Fields(script) {
		switch s, r := ends[step[0]], ends[step[len(step)-1]]; {
		case step == "..":
			l.settle()
		case strings.HasSuffix(step, "+"):
			s.Signal(0, true)
		case strings.HasSuffix(step, "-"):
			s.Signal(0, false)
		case strings.HasSuffix(step, "f"):
			s.Free(0)
		case strings.HasSuffix(step, "!"):
			s.giveUp(0)
		case strings.HasSuffix(step, "?"):
			s.oweHello()
		case strings.HasSuffix(step, "a"):
			s.ask()
		case strings.HasSuffix(step, "h"), strings.HasSuffix(step, "g"):
			s.hold(holdDamped, step[1] == 'h')
		case len(step) == 2 && step[1] == '>':
			if !s.Owes() {
				l.t.Fatalf("step %s: nothing is owed", step)
			}
			l.send(s)
		case len(step) == 3 && step[2] == '>':
			l.send(s, make([]weft.VC, step[1]-'0')...)
		case step[0] == '>' || step[0] == '=':
			l.deliver(r, step[0] == '=')
		case step[0] == 'x':
			r.in = r.in[1:]
		default:
			l.t.Fatalf("step %q is not known", step)
		}
	}
}

// want compares both ends' states and epochs, as "A up 1/2" for end A, up, its epoch 1, its
// neighbour's 2.
func (l *creditLink) want(want string) {
	l.t.Helper()
	print := func(s *creditSide) string {
		asks := ""
		if s.asking {
			asks = " asks"
		}
		return fmt.Sprintf("%v %d/%d%s", s.State(), s.mine, s.peer, asks)
	}
	if got := "A " + print(&l.a) + ", B " + print(&l.b); got != want {
		l.t.Fatalf("the ends are %s; want %s", got, want)
	}
}
