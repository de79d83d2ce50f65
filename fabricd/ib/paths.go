package ib

import (
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
)

// pathTable is what NICs know of paths: the service level of each, as the subnet administrator has
// said.
type pathTable struct {
	sl     map[pathKey]uint8
	alike  bool // all paths are of one level, which was asked for some only
	level1 uint8
}

type pathKey struct {
	src, dst weft.NICID
	offset   int // of the LID
}

// level is the service level of a path; false when there is no record.
func (t *pathTable) level(src, dst weft.NICID, offset int) (uint8, bool) {
	if t.alike {
		return t.level1, true
	}
	sl, ok := t.sl[pathKey{src, dst, offset}]
	return sl, ok
}

// levels are those in use, ascending; at least one.
func (t *pathTable) levels() []uint8 {
	if t.alike {
		return []uint8{t.level1}
	}
	var used [16]bool
	for _, sl := range t.sl {
		used[sl] = true
	}
	var list []uint8
	for sl, is := range used {
		if is {
			list = append(list, uint8(sl))
		}
	}
	if list == nil {
		list = []uint8{0}
	}
	return list
}

// Inquiry asks the subnet administrator for the path records of all pairs of NICs: first from one
// NIC of each switch to one of each other, and if these are of several levels, for every pair.
type Inquiry struct {
	s       *Subnet
	todo    []pathKey
	open    map[uint64]*question
	number  uint64
	found   map[pathKey]uint8
	every   bool // the questions are for all pairs
	refused int
}

type question struct {
	pathKey
	tries int
	age   int // ticks since it was sent
}

// How much is asked at once, and how long an answer may take; chosen by us.
const (
	questionsOpen = 24
	questionTicks = 10 // calls of Tick
	questionTries = 4
)

// InquiryMark is in the upper 16 bits of the transactions of an inquiry.
const InquiryMark = 0xfffe

// NewInquiry begins to ask. A NIC whose port is not active, or that has no LID, does not take part.
func (s *Subnet) NewInquiry() *Inquiry {
	q := &Inquiry{s: s, open: map[uint64]*question{}, found: map[pathKey]uint8{}}
	var first []weft.NICID
	seen := map[weft.SwitchID]bool{}
	for _, n := range s.graph.NICs {
		if at, _ := s.graph.SwitchOf(n.ID); !seen[at] && s.takesPart(n.ID) {
			seen[at] = true
			first = append(first, n.ID)
		}
	}
	if q.every = len(first) < 2 || len(first) == len(s.graph.NICs); q.every {
		first = s.takingPart()
	}
	q.ask(first)
	return q
}

func (s *Subnet) takesPart(id weft.NICID) bool {
	p := s.nicPort(id)
	return p.info.lid() != 0 && p.info.smLID() != 0 && s.carriesData(s.ports[p.end])
}

func (s *Subnet) takingPart() (all []weft.NICID) {
	for _, n := range s.graph.NICs {
		if s.takesPart(n.ID) {
			all = append(all, n.ID)
		}
	}
	return all
}

func (q *Inquiry) ask(nics []weft.NICID) {
	for _, src := range nics {
		for _, dst := range nics {
			for o := range 1 << q.s.nicPort(dst).info.lmc() {
				if src != dst {
					q.todo = append(q.todo, pathKey{src, dst, o})
				}
			}
		}
	}
}

// Next are the questions to send now.
func (q *Inquiry) Next() (list []Datagram) {
	for len(q.open) < questionsOpen && len(q.todo) > 0 {
		k := q.todo[0]
		q.todo = q.todo[1:]
		if _, known := q.found[k]; !known {
			q.number++
			q.open[q.number] = &question{pathKey: k}
			list = append(list, q.datagram(q.number))
		}
	}
	return list
}

// Tick lets time go on: questions that are not answered are asked again.
func (q *Inquiry) Tick() (list []Datagram) {
	for _, n := range slices.Sorted(maps.Keys(q.open)) {
		x := q.open[n]
		if x.age++; x.age < questionTicks {
			continue
		}
		x.age = 0
		if x.tries++; x.tries == questionTries {
			delete(q.open, n)
			q.refused++
			continue
		}
		list = append(list, q.datagram(n))
	}
	return append(list, q.Next()...)
}

func (q *Inquiry) datagram(n uint64) Datagram {
	k := q.open[n].pathKey
	from, to := q.s.nicPort(k.src), q.s.nicPort(k.dst)
	d := Datagram{At: q.s.ports[from.end], From: from.info.lid(), To: int(from.info.smLID()), FromQP: 1, ToQP: 1}
	d.head(ClassAdministration, 2, MethodGet, AttrPathRecord, 0)
	d.SetTransaction(InquiryMark<<48 | n)
	putBE64(d.MAD[:], 48, 1<<4|1<<5|1<<12) // by both LIDs, so many paths
	r := d.MAD[56:]
	putBE16(r, 40, uint16(to.info.lid()+k.offset))
	putBE16(r, 42, uint16(from.info.lid()))
	r[49] = 1
	return d
}

// Heard takes an answer. It reports false for what answers no question of this inquiry.
func (q *Inquiry) Heard(m *MAD) bool {
	n := m.Transaction() & (1<<48 - 1)
	x, ok := q.open[n]
	if !ok || m.Class() != ClassAdministration || m.Method() != MethodGetResp || m.Attribute() != AttrPathRecord {
		return false
	}
	delete(q.open, n)
	if m.Status() != StatusOK {
		q.refused++
		return true
	}
	q.found[x.pathKey] = m[56+53] & 15
	return true
}

// Done reports whether all is answered, or given up. If what was asked so far shows several levels,
// it asks on for all pairs and is not done.
func (q *Inquiry) Done() bool {
	if len(q.open)+len(q.todo) > 0 {
		return false
	}
	if q.every || q.levels() < 2 {
		return true
	}
	q.every = true
	q.ask(q.s.takingPart())
	return false
}

func (q *Inquiry) levels() int {
	var used uint16
	for _, sl := range q.found {
		used |= 1 << sl
	}
	n := 0
	for ; used != 0; used &= used - 1 {
		n++
	}
	return n
}

// Adopt has NICs send by what was found, once the switches have their programs anew. It reports
// false, and changes nothing, when nobody has answered.
func (s *Subnet) Adopt(q *Inquiry) (answered bool) {
	if len(q.found) == 0 {
		return false
	}
	s.paths = pathTable{sl: q.found}
	if !q.every {
		for _, sl := range q.found {
			s.paths.alike, s.paths.level1 = true, sl
			break
		}
	}
	return true
}

// Known reports whether NICs know any path.
func (s *Subnet) Known() bool { return s.paths.alike || len(s.paths.sl) > 0 }

// Found is how many records came, and how many questions nobody answered or were refused.
func (q *Inquiry) Found() (records, refused int) { return len(q.found), q.refused }
