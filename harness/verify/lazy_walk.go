package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// lazyWalk explores what can become of the packets to one destination with whatever links dead: a
// walk decides whether a link is dead when the firmware asks, and not before.
type lazyWalk struct {
	*asker
	// What a packet in each state may still ask about, whatever is answered.
	classes  []class
	class    []int32 // per state; states with the same outcomes are one class
	ids      map[string]int32
	byLeaves map[leavesAt]leavesTo
	items    int                // that there can be
	wordOf   []int32            // per 64 items: which word of a set of links these are; 0: none, nobody asks about them
	words    int                // of a set of links
	sets     []uint64           // sets of links
	setOf    []int32            // per component of the classes: which of them it may ask about
	setIDs   map[uint64][]int32 // by their hash
	own      []uint64
	seen     []int32
	text     []byte

	same                      map[int32]int32 // per class that packets start in: the one explored in its place, see alike
	owner                     []int32         // per class: the one of these that alone leads to it
	fixed                     []uint64        // the links that several ask about
	left                      []int32         // classes to describe
	classNumbers, itemNumbers numbers

	known   [][]fact // what can be known, numbered
	knownID map[string]int32
	plain   []int32 // per class: its node with nothing known, -1: none yet
	nodeIDs map[[2]int32]int32
	nodes   []lazyNode
	edges   []lazyEdge
	todo    [][]int32 // nodes, by the dead links that it takes to come there
	frames  []frame
	hops    []int16
	merged  []fact

	falls    bool                // a channel's number, with some destination
	lookedAt []*guess            // per state: how it was asked
	sorts    []map[itemSort]bool // per class, where states are folded: what can be asked there or later
	graph    *waitGraph          // of all destinations so far, where channels are not numbered
	last     int                 // the destination before
	most     int
	forget   forget  // [lazyWalk.relevant], but for tests
	apart    bool    // each start is explored
	groups   *groups // nil: faults are bounded in all alone
	only     int     // the source that is explored, plus 1; 0: all are
	siblings *siblings
	stood    bool // a subtree has stood for others
	ports    []weft.PortID
	limit    int64 // bytes that it may keep; 0: what the constants below say
	facts    int   // in known
	listed   int   // outcomes of all classes
	turned   turns // where states are folded
}

// forget takes from what is known what need not be remembered where a packet goes.
type forget func(w *lazyWalk, known []fact, to int32) []fact

type class struct {
	outcomes []outcome
	part     int32 // its strongly connected component
}

// lazyNode is a packet in a state of a class that knows something of the links.
type lazyNode struct {
	class, known int32
	cost         int32 // fewest dead links with which a packet comes here
	from         int32 // by which edge; -1: a source sends it
	first, last  int32 // its edges
	hops         int32 // where its longest deliveries begin in lazyWalk.hops, by dead links more
	fails, loops int32 // fewest dead links more with which it is not delivered; it has a livelock
	others       int32 // with which it comes to where others may have it stuck, see vectorUse
	free         int32 // the same, where what others write costs them nothing that is known, see turns
	color        uint8
}

type lazyEdge struct {
	node, to, cost int32 // to as of an outcome
	outcome        int32
}

// never is more dead links than there can be.
const never = 1 << 30

// Bounds of what is held for one destination, chosen by us: a gigabyte at most, as a rule far less.
const (
	maxLazyStates   = 1 << 18
	maxLazyOutcomes = 1 << 22
	maxLazyNodes    = 1 << 22
	maxLazyEdges    = 1 << 25
	maxLazyWords    = 1 << 25
)

func newLazyWalk(m *model, most int, faults *mortals) *lazyWalk {
	w := &lazyWalk{
		asker: newAsker(m, most, faults), most: most, forget: (*lazyWalk).relevant,
		setIDs: map[uint64][]int32{}, ports: make([]weft.PortID, 0, weft.MaxPorts),
	}
	w.items = int(faults.items())
	if m.number == nil {
		w.graph = &waitGraph{}
		w.graph.init(m)
		w.graph.begin(0)
	}
	return w
}

// walk explores the packets to a destination.
func (w *lazyWalk) walk(ctx context.Context, f int) error {
	fs, err := w.states(ctx, f)
	if err != nil {
		return err
	}
	var starts []int32
	for _, of := range fs.starts {
		for _, s := range of {
			starts = append(starts, w.class[s.state])
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	if w.fold == nil && w.faults.when == Before {
		w.forgetCertain(w.certain(starts))
	}
	w.alike(starts)
	if w.apart {
		for s := range w.same {
			w.same[s] = s
		}
	}
	for i := range starts {
		starts[i] = w.same[starts[i]]
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	if w.fold != nil {
		w.turned = w.turns(fs)
		w.askableFolded(fs)
	} else if err := w.askable(starts); err != nil {
		return err
	}
	w.known, w.knownID = append(w.known[:0], nil), map[string]int32{"": 0}
	w.nodeIDs, w.nodes, w.edges = map[[2]int32]int32{}, w.nodes[:0], w.edges[:0]
	w.plain = append(w.plain[:0], slices.Repeat([]int32{-1}, len(w.classes))...)
	w.todo = make([][]int32, w.most+1)
	for _, s := range starts {
		w.come(s, nil, 0, -1)
	}
	for cost := 0; cost <= w.most; cost++ {
		for i := 0; i < len(w.todo[cost]); i++ {
			if i%1024 == 0 {
				if err := cmp.Or(ctx.Err(), w.crowded()); err != nil {
					return err
				}
			}
			if err := w.expand(w.todo[cost][i], int32(cost)); err != nil {
				return err
			}
		}
	}
	w.hops = w.hops[:0]
	for _, s := range starts {
		w.judge(w.plain[s])
	}
	return nil
}

// states finds the states that the packets to a destination can come to, and their classes.
func (w *lazyWalk) states(ctx context.Context, f int) (*flowSpace, error) {
	w.stood, w.facts = w.siblings != nil && w.only == 0 && !w.apart, 0
	for {
		w.recycle(f)
		fs := w.start(f)
		if w.only > 0 {
			w.restrict(fs, func(i int) bool { return i == w.only-1 })
		} else if w.stood {
			w.startExplored(f, fs)
		}
		if w.fold != nil {
			w.foldStarts(fs)
		}
		if err := w.classify(ctx, f, fs); err != nil {
			return nil, err
		}
		switch {
		case !w.stood || w.startAll(f, fs):
			return fs, nil
		case w.siblings.every > 1:
			return nil, errCyclic
		}
		w.stood = false
	}
}

// recycle forgets the destination before, and keeps its memory for this one.
func (w *lazyWalk) recycle(f int) {
	if len(w.fields.all) > maxLazyStates { // guesses name fields by number
		w.space.clear()
		w.guesses = guesses{}
	}
	old := &w.flows[w.last]
	states, ids := old.states[:0], old.ids
	clear(ids)
	*old, w.last = flowSpace{}, f
	w.flows[f] = flowSpace{states: states, ids: ids}
}

// classify asks the firmware in every state that a packet can come to.
func (w *lazyWalk) classify(ctx context.Context, f int, fs *flowSpace) error {
	w.classes, w.class, w.ids = w.classes[:0], w.class[:0], map[string]int32{}
	w.byLeaves, w.lookedAt = map[leavesAt]leavesTo{}, w.lookedAt[:0]
	w.listed = 0
	for i := 0; i < len(fs.states); i++ {
		switch {
		case w.limit == 0 && (len(fs.states) > maxLazyStates || w.listed > maxLazyOutcomes):
			return errNodes
		case i%256 == 0:
			if err := cmp.Or(ctx.Err(), w.crowded()); err != nil {
				return err
			}
		}
		st := fs.states[i]
		if err := w.look(f, &st); err != nil {
			return err
		}
		w.lookedAt = append(w.lookedAt, w.looked)
		if w.fold != nil && (w.unfit || w.looked == nil || !w.believed(w.fold, f, &st, w.looked)) {
			if w.unlike != nil {
				return w.unlike
			}
			return errUnfit
		}
		if id, ok := w.classOf(&st); ok {
			w.class = append(w.class, id)
			continue
		}
		w.list(fs, st)
		if w.text = w.key(st.sw, w.text); w.fold != nil {
			w.text = binary.AppendVarint(w.text, int64(i)) // what a class can still ask is said by its state's labels
		}
		id, ok := w.ids[string(w.text)]
		if !ok {
			id = int32(len(w.classes))
			w.ids[string(w.text)] = id
			c := class{outcomes: slices.Clone(w.outcomes), part: -1}
			facts := slices.Clone(w.asker.facts)
			for j := range c.outcomes {
				n := len(c.outcomes[j].facts)
				c.outcomes[j].facts, facts = facts[:n:n], facts[n:]
			}
			w.classes = append(w.classes, c)
			w.listed += len(c.outcomes)
		}
		w.class = append(w.class, id)
		w.noteClass(&st, id)
	}
	for i := range w.classes {
		for j := range w.classes[i].outcomes {
			if o := &w.classes[i].outcomes[j]; o.to >= 0 {
				o.to = w.class[o.to]
			}
		}
	}
	return nil
}

// leavesAt are the leaves of a switch, by their number.
type leavesAt struct{ sw, list int32 }

// leavesTo is the class that leaves lead to, and the lowest number of a channel that they take.
type leavesTo struct{ class, lowest int32 }

// classOf is the class of a state with leaves that another state of the switch has had, unless a
// hop does not raise the channel's number: where packets came in is then all that tells the two
// apart.
func (w *lazyWalk) classOf(st *state) (class int32, ok bool) {
	if w.looked == nil || w.m.number == nil {
		return 0, false
	}
	to, ok := w.byLeaves[leavesAt{st.sw, w.looked.list}]
	in := w.m.into(int(st.sw), st.in, st.vc)
	return to.class, ok && (in < 0 || w.m.number[in] < to.lowest)
}

// noteClass notes the class of a state whose outcomes have just been listed.
func (w *lazyWalk) noteClass(st *state, class int32) {
	if w.looked == nil || w.m.number == nil {
		return
	}
	to := leavesTo{class, math.MaxInt32}
	for i := range w.outcomes {
		if o := &w.outcomes[i]; o.falls {
			return
		} else if o.out >= 0 {
			to.lowest = min(to.lowest, w.m.number[o.out])
		}
	}
	w.byLeaves[leavesAt{st.sw, w.looked.list}] = to
}

// relevant is what of some facts may be asked about again by a packet that comes to a class.
func (w *lazyWalk) relevant(known []fact, to int32) (left []fact) {
	if w.fold != nil {
		return w.relevantFolded(known, to)
	}
	set := w.setAt(w.setOf[w.classes[to].part])
	for i, is := range known {
		if asked := set[w.wordOf[is>>7]]>>(is>>1&63)&1 == 1; asked && left == nil {
			left = make([]fact, 0, len(known)-i)
			left = append(left, is)
		} else if asked {
			left = append(left, is)
		}
	}
	return left
}

// come notes that a packet comes to a class with some facts known and so many links dead, by an
// edge, and returns its node.
func (w *lazyWalk) come(class int32, known []fact, cost, edge int32) int32 {
	at := &w.plain[class]
	id := int32(-1)
	k := int32(0)
	if len(known) == 0 {
		id = *at
	} else {
		w.text = w.text[:0]
		for _, is := range known {
			w.text = binary.LittleEndian.AppendUint32(w.text, uint32(is))
		}
		var ok bool
		if k, ok = w.knownID[string(w.text)]; !ok {
			k = int32(len(w.known))
			w.known = append(w.known, slices.Clone(known))
			w.facts += len(known)
			w.knownID[string(w.text)] = k
		}
		if id, ok = w.nodeIDs[[2]int32{class, k}]; !ok {
			id = -1
		}
	}
	if id < 0 {
		id = int32(len(w.nodes))
		w.nodes = append(w.nodes, lazyNode{class: class, known: k, cost: never})
		if k == 0 {
			*at = id
		} else {
			w.nodeIDs[[2]int32{class, k}] = id
		}
	}
	if n := &w.nodes[id]; cost < n.cost {
		n.cost, n.from = cost, edge
		w.todo[cost] = append(w.todo[cost], id)
	}
	return id
}

// expand follows all that can become of a packet, if this is the least cost at which it gets here.
func (w *lazyWalk) expand(id, cost int32) error {
	n := &w.nodes[id]
	if n.cost != cost || n.last > 0 {
		return nil
	}
	class, known := n.class, w.known[n.known]
	n.first = int32(len(w.edges))
	for i := range w.classes[class].outcomes {
		o := &w.classes[class].outcomes[i]
		dies, ok := w.learn(known, o)
		if !ok || cost+dies > int32(w.most) {
			continue
		}
		e := lazyEdge{node: id, to: o.to, cost: dies, outcome: int32(i)}
		if o.to >= 0 {
			left, _ := w.remembers(o, cost+dies)
			e.to = w.come(o.to, left, cost+dies, int32(len(w.edges)))
		}
		w.edges = append(w.edges, e)
		if w.graph != nil && o.out >= 0 && o.from >= 0 {
			w.graph.between(o.from, o.out, o.two)
		}
	}
	w.nodes[id].last = int32(len(w.edges))
	return nil
}

// remembers is what of w.merged a packet still knows that has come by an outcome and met so many
// faults, and, where states are folded, what its names there have become.
func (w *lazyWalk) remembers(o *outcome, cost int32) (left []fact, by []uint8) {
	now := w.merged
	if w.fold != nil {
		now = w.fold.facts(w.moves[o.by], now)
	}
	left = w.forget(w, now, o.to)
	// Faults that come later make what is up dead. Where nothing can be dead any more, all that is not
	// known to be is up.
	if w.faults.when != Before || cost == int32(w.most) {
		left = slices.DeleteFunc(left, func(is fact) bool { return !is.dead() })
	}
	if w.fold != nil {
		order := w.orderFolded(left, o.to)
		left, by = w.fold.facts(order, left), w.fold.then(w.moves[o.by], order)
	}
	return left, by
}

// learn sets w.merged to what is known and what an outcome adds, and counts the links that are dead
// by that. ok is false where the two contradict each other.
func (w *lazyWalk) learn(known []fact, o *outcome) (dies int32, ok bool) {
	if w.vectors {
		return w.learnOfVector(known, o)
	}
	dies, ok = w.learnFacts(known, o)
	if ok && dies > 0 && w.groups != nil {
		w.merged, ok = w.groups.charge(w.merged, known, o.facts)
	}
	return dies, ok
}

func (w *lazyWalk) learnFacts(known []fact, o *outcome) (dies int32, ok bool) {
	if w.faults.open() {
		w.merged, dies, ok = w.faults.learn(w.merged, known, o)
		return dies, ok
	}
	w.merged = w.merged[:0]
	i := 0
	for _, is := range o.facts {
		for i < len(known) && known[i]|1 < is|1 {
			w.merged = append(w.merged, known[i])
			i++
		}
		if i < len(known) && known[i]|1 == is|1 {
			if known[i] != is {
				return 0, false
			}
			i++
		} else if is.dead() {
			dies++
		}
		w.merged = append(w.merged, is)
	}
	w.merged = append(w.merged, known[i:]...)
	return dies, true
}
