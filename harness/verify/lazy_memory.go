package verify

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/dustin/go-humanize"
)

// allowance is the memory that exploring all sets at once may take. Workers share it. What takes
// more than a worker's share is explored alone, with the memory of all; a destination for which
// that is too little, pair by pair.
type allowance struct {
	alone   sync.RWMutex // held to read by whoever has a share, to write by whoever has all
	all     int64        // bytes for walks; 0: what a walk keeps is bounded by our choice
	workers int
}

// errMemory is that the packets to a destination can know more than there is memory for.
var errMemory = errors.New("packets can know more than there is memory for")

// allow is the allowance of a run of so many workers.
func (r *run) allow(workers int) (*allowance, error) {
	a := &allowance{all: r.spare, workers: workers}
	if r.Memory == 0 {
		return a, nil
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	taken := int64(m.Sys - m.HeapIdle)
	if a.all = r.Memory - taken; a.all < int64(workers)<<20 {
		return nil, fmt.Errorf("%w: %s of memory: %s with its routing takes %s, and each of %d workers a MiB at least: "+
			"give more, or fewer workers", ErrConfig, amount(r.Memory), r.Graph.Spec, amount(taken),
			workers)
	}
	return a, nil
}

// within explores a destination, and those that it stands for, within the memory that there is.
func (s *finder) within(ctx context.Context, a *allowance, finders []*finder, f int) (ended, error) {
	a.alone.RLock()
	s.walks(a.all / int64(a.workers))
	e, err := s.piece(ctx, f)
	a.alone.RUnlock()
	if !errors.Is(err, errMemory) {
		return e, err
	}
	a.alone.Lock()
	defer a.alone.Unlock()
	for _, other := range finders { // nobody else explores now
		if other != nil {
			other.w = nil
		}
	}
	s.walks(a.all)
	s.pairwise = true
	e, err = s.piece(ctx, f)
	s.w, s.pairwise = nil, false
	return e, err
}

// walks makes the finder's walk, unless it has one, of so many bytes at most.
func (s *finder) walks(limit int64) {
	if s.w == nil {
		s.w = newLazyWalk(s.r.model, s.r.most(), newMortals(s.r.model, &s.r.Sets, s.r.OneByOne))
		s.w.forget, s.w.siblings = s.forget, s.siblings
		s.w.count(&s.r.Sets)
	}
	s.w.limit = limit
}

// pairByPair explores the pairs of a destination one after the other.
func (s *finder) pairByPair(ctx context.Context, f int) (pairs []lazyPair, err error) {
	defer func() { s.w.only = 0 }()
	fl := &s.r.model.flows[f]
	for i, src := range fl.srcs {
		s.w.shrink()
		s.w.only = i + 1
		one, err := s.explore(ctx, f)
		if errors.Is(err, errMemory) {
			return nil, fmt.Errorf("%w: to explore the pair of %s and %s takes more than %s, with %d faults: give more "+
				"memory, or ask for fewer faults", errTooLittle, s.r.Graph.NICs[src].Name, s.r.Graph.NICs[fl.dst].Name,
				amount(s.w.limit), s.r.most())
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, one[i])
	}
	if s.r.eachPair {
		s.each[f] = pairs
	}
	return pairs, nil
}

// errTooLittle is wrapped by the error that a pair takes more memory than there is.
var errTooLittle = errors.New("too little memory")

// amount is so many bytes for people.
func amount(bytes int64) string { return humanize.IBytes(uint64(max(0, bytes))) }

// restrict leaves what packets of some sources start in.
func (w *lazyWalk) restrict(fs *flowSpace, keeps func(source int) bool) {
	own := slices.Clone(fs.states)
	fs.states = fs.states[:0]
	clear(fs.ids)
	for i := range fs.starts {
		if !keeps(i) {
			fs.starts[i] = nil
			continue
		}
		for j := range fs.starts[i] {
			st := &own[fs.starts[i][j].state]
			fs.starts[i][j].state = w.stateWith(fs, int(st.sw), st.in, st.vc, st.fields)
		}
	}
}

// crowded is the error that a walk keeps more than it may.
func (w *lazyWalk) crowded() error {
	switch {
	case w.limit > 0 && w.bytes() > w.limit:
		return errMemory
	case w.limit == 0 && (len(w.nodes) > maxLazyNodes || len(w.edges) > maxLazyEdges):
		return errNodes
	}
	return nil
}

// bytesHeld is about what one of the things takes that are bounded by their number: an answer of a
// firmware, a pattern, a node with what is known. Measured.
const bytesHeld = 256

// held is how many such things a worker may keep, where most is our choice.
func (c *Config) held(most int) int {
	if c.Memory == 0 {
		return most
	}
	return int(min(int64(most), c.Memory/int64(c.Workers)/4/bytesHeld))
}

// perEntry is what an entry of a map takes beside key and value, about: maps are half full.
const perEntry = 2

// bytes is about what a walk keeps for its destination, with what growing takes for a moment.
func (w *lazyWalk) bytes() int64 {
	size := func(n int, of uintptr) int64 { return int64(n) * int64(of) }
	fs := &w.flows[w.last]
	sum := size(cap(w.nodes), unsafe.Sizeof(lazyNode{})) + size(cap(w.edges), unsafe.Sizeof(lazyEdge{})) +
		size(cap(w.hops), 2) + size(cap(w.known), unsafe.Sizeof(w.known)) + 2*4*int64(w.facts) +
		perEntry*(size(len(w.knownID), 16+4)+size(len(w.nodeIDs), 8+4)) +
		size(cap(w.sets), 8) + size(cap(fs.states), unsafe.Sizeof(state{})) + perEntry*size(len(fs.ids), 8+4) +
		size(w.listed, unsafe.Sizeof(outcome{})+8*4) + size(len(w.classes), 2*64)
	for _, list := range w.todo {
		sum += size(cap(list), 4)
	}
	return sum + sum/4
}

// shrink gives back what a walk keeps of the destination before.
func (w *lazyWalk) shrink() {
	w.nodes, w.edges, w.hops, w.known, w.todo, w.sets = nil, nil, nil, nil, nil, nil
	w.knownID, w.nodeIDs, w.classes = nil, nil, nil
}
