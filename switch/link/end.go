package link

import "github.com/weft-fabric/weft"

// State of a link end.
type State uint8

// The states of a link end.
const (
	Down State = iota // no signal
	Init              // signal, but the neighbour has not yet answered in this epoch
	Up                // both ends agree on the epoch; packets may flow
)

// String prints the state in one word.
func (s State) String() string {
	return [...]string{"down", "init", "up"}[s]
}

// Config of a link end.
type Config struct {
	VCs    int // virtual channels, 1 to weft.MaxVCs
	Buffer int // packets that the receiving buffer of each VC holds, 1 to weft.MaxBuffer

	// Eager returns each credit in a frame of its own at once, unless packets are there to carry
	// it. Otherwise a frame for credits alone is owed only once the neighbour has less than half of
	// its credits left: it saves half the messages of an idle link and more of a busy one, and the
	// neighbour, which has a credit, never waits for what is held back.
	Eager bool

	// First is the epoch before the first. An end that takes the place of another, as a process
	// that is started again, must begin above all epochs of the one before: neighbours take lower
	// ones for old frames.
	First weft.Epoch

	Liveness Liveness // of the neighbour; must be valid, see [Liveness.Validate]
}

// End is one end of a link. The times it is told never go backwards. It has one owner; do not copy
// it once it is used. The zero value is not usable, see [New].
type End struct {
	// First come seven words that only a second channel, hellos and faults need. Each frame and each
	// packet needs the seven words from state on, which are in one cache line where an end stands in
	// the list of a switch's ports.
	second   channel    // of no meaning where there is one
	live     *detector  // off, which many ends share, where nothing is configured
	rare     *rare      // nil: nothing of it has happened
	upWith   weft.Epoch // the neighbour's, when the end came up last; 0: never
	answer   answer
	renewing bool // it was up, and is in Init only because the neighbour gave us up while we were stopped
	_        [2]byte

	state    State
	hello    bool // a frame is owed for the handshake, or because it is time
	held     hold // for which reasons it does not come up
	asking   bool // it sends no packets until the neighbour has answered, see ask
	asked    bool // an answer is owed
	awaiting bool // it sends no packets until the neighbour begins anew, see Await
	hellos   bool // they are configured: only then need frames be told to live
	vcs      uint8
	buffer   uint16
	eager    bool       // see Config.Eager
	mine     weft.Epoch // of this end
	peer     weft.Epoch
	floor    weft.Epoch // it hears no epoch of the neighbour up to this one, see Refuse
	first    channel
}

// rare is what few ends ever need.
type rare struct {
	channels  []channel // from the third on
	counters  Counters  // but of Sent and Received only those of the epochs before this one
	skipped   uint64    // packets of this epoch that are known lost
	last      sending   // of the epochs before this one
	awaits    weft.Time // how long the end sends nothing; of no meaning unless it awaits
	until     weft.Time // then it sends again; likewise
	explained weft.Time // until then our own absence explains that the neighbour begins a new epoch
	upOwner   uint64    // the incarnation of the neighbour that upWith is of; 0: nobody has said yet
	before    *periods  // nil: it has come up once at most
}

// seldom is what few ends ever need, to be written.
func (e *End) seldom() *rare {
	if e.rare == nil {
		e.rare = new(rare)
	}
	return e.rare
}

// none is what an end has that has needed nothing of it. Nobody writes it.
var none rare

// seldomRead is what few ends ever need, to be read.
func (e *End) seldomRead() *rare {
	if e.rare == nil {
		return &none
	}
	return e.rare
}

// New returns an end without signal.
func New(c Config) End {
	e := End{
		vcs: uint8(c.VCs), buffer: uint16(c.Buffer), eager: c.Eager, mine: c.First,
		hellos: c.Liveness.Interval > 0, live: detectorOf(c.Liveness),
	}
	if c.VCs > 2 {
		e.seldom().channels = make([]channel, c.VCs-2)
	}
	return e
}

// channel is the state of one VC.
func (e *End) channel(vc weft.VC) *channel {
	switch vc {
	case 0:
		return &e.first
	case 1:
		return &e.second
	}
	return &e.rare.channels[vc-2]
}

// State of the link as this end sees it.
func (e *End) State() State { return e.state }

// Usable reports whether packets may be queued for the link: it is up, or will be as soon as the
// neighbour has answered.
func (e *End) Usable() bool { return e.state == Up || e.renewing }

// Signal tells the end that signal is there or gone. It reports whether the link stopped being up.
// An end that is told of signal once more says hello.
func (e *End) Signal(now weft.Time, up bool) (lost bool) {
	if up {
		if e.state == Down {
			e.restart(0)
		}
		e.oweHello()
		e.live.start(now)
		return false
	}
	lost = e.Usable()
	if e.state == Up {
		e.countLoss(now)
	}
	e.fall()
	return lost
}

// fall takes the end down.
func (e *End) fall() {
	e.keepLast()
	e.state, e.peer, e.hello, e.answer, e.asking, e.asked = Down, 0, false, silent, false, false
	e.renewing = false
	e.endAwait()
	e.live.stop()
}

// Verdict says what a received frame did to the link.
type Verdict struct {
	Accept bool // its packets belong to this epoch: pass each to Take
	Heard  bool // it has no packets to take, and comes from the neighbour as it is now
	CameUp bool // the link is up now and was not before
	Lost   bool // the neighbour started anew: what this end had sent is lost, the link is not up
}

// Receive takes the frame's epochs and counters. When the verdict accepts it, the caller passes its
// packets to Take in order. Of an end that is up again in a new epoch after we were stopped the
// verdict says neither that it was lost nor that it came up.
func (e *End) Receive(now weft.Time, f *weft.Frame) (Verdict, error) {
	if e.state == Up && f.To == e.mine && f.From == e.peer && f.From > e.floor && f.VCs == int(e.vcs) {
		// Nearly all frames are such.
		if err := e.takeCredits(f); err != nil {
			return Verdict{}, err
		}
		if e.hellos {
			e.live.heard(now)
		}
		return Verdict{Accept: true}, nil
	}
	awaited := e.awaiting
	v, err := e.receive(f)
	if v.Lost {
		absent := e.live.mute(now) || now < e.seldomRead().explained
		if awaited {
			e.live.forget()
		} else {
			e.countLoss(now)
		}
		if absent && !e.Suppressed() {
			e.renewing, v.Lost = true, false
			e.live.up(now)
		}
	}
	if v.CameUp {
		e.live.up(now)
		v.CameUp, e.renewing = !e.renewing, false
	}
	if v.Accept || v.Heard {
		e.live.heard(now)
	}
	return v, err
}

// Exempt tells that the neighbour is not heard because something of ours holds it up. Its time
// begins anew, but a silence that lasts ten times as long as it may is one whatever the reason.
func (e *End) Exempt(now weft.Time) { e.live.exempt(now) }

// Stamp fills the epochs and counters of a frame that this end is about to send. Call it before
// Spend for the frame's packets; it reports whether the frame may have any.
func (e *End) Stamp(now weft.Time, f *weft.Frame) (packets bool) {
	packets = !e.asking && !e.asked
	if !packets {
		e.stampQuestion(f)
	} else if e.stampCredits(f); e.held != 0 && e.state != Up {
		f.To, f.Sent[0], f.Limit[0] = 0, uint64(e.peer), 0 // see hold
	}
	if e.hellos {
		e.live.sent(now)
	}
	return packets
}

// Due is when Tick is to be called at the latest. Stamp only ever puts it off; look again after
// Signal, and after a Receive that changed the state of the link.
func (e *End) Due() weft.Time {
	if e.awaiting {
		return min(e.live.due(), e.rare.until)
	}
	return e.live.due()
}

// SuspectAt is when the neighbour has missed a hello, and Exempt matters; only a frame that it is
// heard by puts that off. weft.Never: no hello is expected.
func (e *End) SuspectAt() weft.Time { return e.live.suspectAt() }

// Tick does what was due at or before now: saying hello, or giving up on a neighbour that is
// silent. It reports whether the link stopped being up, and whether a hello is due: a frame that is
// not to wait.
func (e *End) Tick(now weft.Time) (lost, hello bool) {
	if e.awaiting {
		e.live.exempt(now)
		if e.rare.until <= now {
			e.endAwait()
		}
	}
	d := e.live.tick(now)
	if d.released {
		e.hold(holdDamped, false)
	}
	if d.silent {
		lost = e.giveUp(now) || e.renewing
		e.renewing = false
	}
	if d.hello {
		e.oweHello()
	}
	return lost, e.hello && d != (due{})
}

// Suppressed reports whether damping keeps the link from coming up.
func (e *End) Suppressed() bool { return e.live.suppressed() }

// giveUp has an end that is up start anew, since its neighbour is not heard any more. It reports
// whether it was up.
func (e *End) giveUp(now weft.Time) (lost bool) {
	if e.state != Up {
		return false
	}
	e.restart(0)
	e.countLoss(now)
	return true
}

// countLoss tells damping that the link has left the up state.
func (e *End) countLoss(now weft.Time) {
	e.live.lost(now)
	if e.Suppressed() {
		e.hold(holdDamped, true)
	}
}

// Preload reads what a frame needs, see package harness/virtual.
func (e *End) Preload() uint64 {
	x := uint64(e.mine)
	if e.vcs > 1 {
		x += e.second.sent
	}
	return x
}
