package link

import (
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
)

const fuzzVCs = 2

// lost is a packet dropped from a wire that the receiver may not have missed yet.
type lost struct {
	from, to weft.Epoch
	vc       weft.VC
	at       uint64
}

// model is a link with what a bystander knows of it, apart from what the ends believe.
type model struct {
	*creditLink
	buffer int
	lost   map[*creditSide][]lost // per receiver
	held   map[*creditSide]*[fuzzVCs]int
	gone   map[*creditSide]uint64 // per sender, what OnWire last called lost
}

// FuzzEnds lets a script of bytes drive two ends joined by two FIFO wires. The first byte is the
// configuration, each other one a step.
func FuzzEnds(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 0x06, 0x16, 0x00, 0x10, 0x01, 0x11, 0x00, 0x10, 0x01, 0x11, 0x20, 0x01, 0x11, 0x04, 0x14})
	f.Add([]byte{11, 6, 22, 0, 1, 16, 17, 0, 17, 0x40, 2, 0x40, 0x11, 4, 3, 0x20, 0x13, 0x11})
	f.Add([]byte{3, 6, 22, 0, 0x13, 16, 1, 0x15, 0x16, 0x11, 0x10, 1})
	for seed := range byte(16) { // a spread of steps, so that plain `go test` covers all of them
		script := []byte{seed}
		for i, x := 0, uint32(seed)*2654435761+1; i < 400; i++ {
			x = x*1664525 + 1013904223
			script = append(script, byte(x>>24))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 || len(script) > 4096 {
			return
		}
		c := Config{VCs: fuzzVCs, Buffer: int(script[0]%8) + 1, Eager: script[0]&8 != 0}
		m := &model{creditLink: newCreditLink(t, c), buffer: c.Buffer}
		m.lost, m.gone = map[*creditSide][]lost{}, map[*creditSide]uint64{}
		m.held = map[*creditSide]*[fuzzVCs]int{&m.a: {}, &m.b: {}}
		for _, step := range script[1:] {
			m.step(step)
			m.check()
			m.checkWire()
		}
		m.finish()
	})
}

func (m *model) step(step byte) {
	s := &m.a
	if step&0x10 != 0 {
		s = &m.b
	}
	vc := weft.VC(step >> 5 & 1)
	switch step & 7 {
	case 0: // up to three packets, or what is owed
		var vcs []weft.VC
		for range min(int(step>>6), s.Credits(vc)) {
			vcs = append(vcs, vc)
		}
		if len(vcs) > 0 || s.Owes() {
			m.send(s, vcs...)
		}
	case 1, 3:
		if len(s.in) > 0 {
			m.arrive(s, step&7 == 3)
		}
	case 2:
		if len(s.in) > 0 {
			m.drop(s)
		}
	case 4:
		if m.held[s][vc] > 0 {
			m.held[s][vc]--
			s.Free(vc)
		}
	case 5:
		if step&0x80 != 0 {
			m.other(s).Signal(0, false)
		}
		s.Signal(0, false)
	case 6:
		switch step >> 6 {
		case 2:
			s.Hold()
		case 3:
			s.Open(0)
		case 1:
			s.ask()
		default:
			s.Signal(0, true)
		}
	default:
		switch step >> 6 {
		case 0:
			s.giveUp(0)
		case 1:
			s.oweHello()
		default:
			s.hold(holdDamped, step>>6 == 2)
		}
	}
}

func (m *model) arrive(s *creditSide, again bool) {
	before := s.Counters().Received
	var was [fuzzVCs]int
	for vc := range was {
		was[vc] = s.Held(weft.VC(vc))
	}
	f := s.in[0]
	if v := m.deliver(s, again); !v.Accept && !f.seen {
		m.note(s, f) // its packets never come
	}
	total := 0
	for vc := range was {
		fresh := s.Held(weft.VC(vc)) - was[vc]
		m.held[s][vc] += fresh
		total += fresh
	}
	if uint64(total) != s.Counters().Received-before {
		m.t.Fatalf("received %d, held %d more", s.Counters().Received-before, total)
	}
}

func (m *model) drop(s *creditSide) {
	f := s.in[0]
	s.in = s.in[1:]
	if !f.seen {
		m.note(s, f)
	}
}

// note remembers the packets of a frame that s does not get.
func (m *model) note(s *creditSide, f frame) {
	at := f.Sent
	for _, p := range f.Packets {
		m.lost[s] = append(m.lost[s], lost{f.From, f.To, p.VC, at[p.VC]})
		at[p.VC]++
	}
}

// check compares what the ends believe with what is on the wires.
func (m *model) check() {
	for _, s := range []*creditSide{&m.a, &m.b} {
		r := m.other(s)
		for vc := range weft.VC(fuzzVCs) {
			tx, rx := s.Epoch(vc), r.Epoch(vc)
			if tx.Sent > tx.Limit {
				m.t.Fatalf("%v: sent %d beyond the limit %d", vc, tx.Sent, tx.Limit)
			}
			if rx.Held > m.buffer || rx.Held != m.held[r][vc] {
				m.t.Fatalf("%v: held %d, in fact %d of %d", vc, rx.Held, m.held[r][vc], m.buffer)
			}
			if c := s.Credits(vc); c < 0 || c > m.buffer {
				m.t.Fatalf("%v: %d credits for a buffer of %d", vc, c, m.buffer)
			}
			if s.State() != Up || r.State() != Up || s.peer != r.mine || r.peer != s.mine {
				continue
			}
			wire := 0
			for _, f := range r.in {
				if f.From != s.mine || f.To != r.mine || f.seen {
					continue
				}
				for _, p := range f.Packets {
					if p.VC == vc {
						wire++
					}
				}
			}
			for _, p := range m.lost[r] {
				if p.from == s.mine && p.to == r.mine && p.vc == vc && p.at >= rx.Received {
					wire++ // gone, but the receiver has not noticed
				}
			}
			notGranted := int(rx.Received) + m.buffer - rx.Held - int(tx.Limit)
			if notGranted < 0 {
				m.t.Fatalf("%v: %d places granted that there are not", vc, -notGranted)
			}
			if sum := int(tx.Limit-tx.Sent) + wire + rx.Held + notGranted; sum != m.buffer {
				m.t.Fatalf("%v: credits %d + wire %d + held %d + not granted %d = %d, not %d",
					vc, s.Credits(vc), wire, rx.Held, notGranted, sum, m.buffer)
			}
		}
	}
}

// checkWire compares what OnWire tells with the wires, and with what was lost without the receiver
// having noticed.
func (m *model) checkWire() {
	for _, s := range []*creditSide{&m.a, &m.b} {
		r := m.other(s)
		wire, lost := OnWire(s.Flow(), r.Flow())
		if missing := s.Counters().Sent - r.Counters().Received; wire+lost != missing {
			m.t.Fatalf("%d on the wire and %d lost of %d missing", wire, lost, missing)
		}
		if lost < m.gone[s] {
			m.t.Fatalf("%d lost, and %d before", lost, m.gone[s])
		}
		m.gone[s] = lost
		want := uint64(0)
		for _, f := range r.in {
			if !f.seen {
				want += m.wouldTake(r, f)
			}
		}
		for _, p := range m.lost[r] {
			if m.mayCome(r, p.from, p.to) && p.at >= r.Epoch(p.vc).Received {
				want++
			}
		}
		if wire != want {
			m.t.Fatalf("%d on the wire; in fact %d may arrive or are not known to be lost: from %v %d/%d to %v %d/%d",
				wire, want, s.state, s.mine, s.peer, r.state, r.mine, r.peer)
		}
	}
}

// mayCome reports whether r would still take, or miss, packets of these epochs.
func (m *model) mayCome(r *creditSide, from, to weft.Epoch) bool {
	return to == r.mine && (r.state == Init && from >= r.peer || r.state == Up && from == r.peer)
}

// wouldTake is how many of f's packets a copy of r, not held, takes.
func (m *model) wouldTake(r *creditSide, f frame) (n uint64) {
	e := r.End
	rare := *r.seldomRead()
	rare.channels = slices.Clone(rare.channels)
	e.rare, e.held = &rare, 0
	if v, err := e.Receive(0, &f.Frame); err != nil || !v.Accept {
		return 0
	}
	at := f.Sent
	for _, p := range f.Packets {
		if fresh, err := e.Take(p.VC, at[p.VC]); err == nil && fresh {
			n++
		}
		at[p.VC]++
	}
	return n
}

// finish brings signal to both ends, has each say hello, delivers everything and frees every place:
// then both ends are up, all credits are home, and what is missing is lost, whatever frames were.
func (m *model) finish() {
	m.a.Signal(0, true)
	m.b.Signal(0, true)
	for range 3 {
		for _, s := range []*creditSide{&m.a, &m.b} {
			s.hold(holdDamped, false)
			s.Open(0)
			s.oweHello()
		}
		m.settle()
		for _, s := range []*creditSide{&m.a, &m.b} {
			for vc := range weft.VC(fuzzVCs) {
				for s.Held(vc) > 0 {
					s.Free(vc)
				}
			}
		}
	}
	m.settle()
	if m.a.State() != Up || m.b.State() != Up || m.a.peer != m.b.mine || m.b.peer != m.a.mine {
		m.t.Fatalf("the ends do not meet: %v %d/%d and %v %d/%d", m.a.State(), m.a.mine, m.a.peer, m.b.State(), m.b.mine,
			m.b.peer)
	}
	for _, s := range []*creditSide{&m.a, &m.b} {
		for vc := range weft.VC(fuzzVCs) {
			if s.Credits(vc) == 0 {
				m.t.Fatalf("%v: no credit at rest", vc)
			}
		}
		m.send(m.other(s)) // carries what was held back
		m.settle()
		for vc := range weft.VC(fuzzVCs) {
			if s.Credits(vc) != m.buffer {
				m.t.Fatalf("%v: %d of %d credits came home", vc, s.Credits(vc), m.buffer)
			}
		}
	}
	m.checkWire()
	for _, s := range []*creditSide{&m.a, &m.b} {
		if wire, _ := OnWire(s.Flow(), m.other(s).Flow()); wire > 0 {
			m.t.Fatalf("%d packets are on an empty wire", wire)
		}
	}
}
