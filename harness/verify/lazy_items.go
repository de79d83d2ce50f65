package verify

import "slices"

// What an item is, see [mortals], in a tree that is folded. A bit of a register is named by the
// link below whose lower end the vector is, see vectors.
const (
	linkItem = iota
	switchItem
	fromAbove // a suspicion of the lower end of a link
	fromBelow // of the upper end
	bitItem
)

// slots are what an item is, the tier of the switch or of the link's upper end, and the slots that
// it has.
func (q *fold) slots(item int32) (kind, tier int, at []int32) {
	links, switches := int32(len(q.coords)), int32(len(q.places))
	switch {
	case item < links:
		return linkItem, q.upper[item], q.coords[item]
	case item < links+switches:
		return switchItem, int(q.m.g.Switches[item-links].Tier), q.places[item-links]
	case item < 3*links+switches:
		link, end := (item-links-switches)/2, (item-links-switches)&1
		if kind = fromAbove; end == q.above[link] {
			kind = fromBelow
		}
		return kind, q.upper[link], q.coords[link]
	}
	item -= 3*links + switches
	return bitItem, q.upper[item], q.coords[item]
}

// item is what becomes of an item.
func (q *fold) item(p []uint8, item int32) int32 {
	links, switches := int32(len(q.coords)), int32(len(q.places))
	kind, tier, at := q.slots(item)
	if kind == switchItem {
		return links + q.switchAt[tier][q.place(at, p)]
	}
	to := q.linkAt[tier][q.place(at, p)]
	switch kind {
	case fromAbove:
		to = links + switches + 2*to + 1 - q.above[to]
	case fromBelow:
		to = links + switches + 2*to + q.above[to]
	case bitItem:
		to += 3*links + switches
	}
	return to
}

// facts renumbers facts, and sorts them.
func (q *fold) facts(p []uint8, facts []fact) []fact {
	for i, is := range facts {
		facts[i] = fact(q.item(p, int32(is>>1)))<<1 | is&1
	}
	slices.Sort(facts)
	return facts
}

// itemSort is which items a state cannot tell apart: what they are, the tier of the switch or of
// the link's upper end, and the label of each of their values.
type itemSort uint64

// maxTiers is how many labels, of five bits each, there is room for in a sort.
const maxTiers = 11

// sortOf is the sort of an item, to a state whose labels are set.
func (q *fold) sortOf(item int32) itemSort {
	kind, tier, at := q.slots(item)
	s := itemSort(kind)<<4 | itemSort(tier)
	for _, slot := range at {
		s = s<<5 | itemSort(q.label[slot])
	}
	if kind == switchItem {
		s <<= 5 // it has one digit less
	}
	return s
}

// pull adds what a sort of items is by other labels.
func (q *fold) pull(s itemSort, relation [][][2]uint8, into map[itemSort]bool) {
	top := s >> (5 * q.tiers)
	kind, tier := int(top>>4), int(top&15)
	var add func(i int, to itemSort)
	add = func(i int, to itemSort) {
		switch {
		case i == q.tiers:
			into[to] = true
			return
		case kind == switchItem && i == q.tiers-1:
			add(i+1, to<<5)
			return
		}
		digit := i // of a link: digits 0 to its tier as subtree, from there on as copy
		if kind == switchItem && i >= tier {
			digit = q.tiers + i
		} else if i > tier {
			digit = q.tiers + i - 1
		}
		for _, pair := range relation[digit] {
			if itemSort(pair[0]) == s>>(5*(q.tiers-1-i))&31 {
				add(i+1, to<<5|itemSort(pair[1]))
			}
		}
	}
	add(0, top)
}
