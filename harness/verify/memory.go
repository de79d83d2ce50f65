package verify

import "slices"

// memory is what a packet knows of the registers of the switches it has been at: a list, in the
// order of the switches. Memories are numbered; 0 is to know nothing.
type memories struct {
	all  [][]known
	ids  map[string]int32
	sets map[[3]int32]int32 // memory, switch, value -> memory
}

type known struct{ sw, value int32 }

func (m *memories) clear() {
	m.all = append(m.all[:0], nil)
	m.ids, m.sets = map[string]int32{"": 0}, map[[3]int32]int32{}
}

// get is what is known of sw.
func (m *memories) get(id, sw int32) (value int32, ok bool) {
	for _, k := range m.all[id] {
		if k.sw == sw {
			return k.value, true
		}
	}
	return 0, false
}

// set is the memory id with the value of sw known.
func (m *memories) set(id, sw, value int32) int32 {
	key := [3]int32{id, sw, value}
	if to, ok := m.sets[key]; ok {
		return to
	}
	list := slices.Clone(m.all[id])
	i, ok := slices.BinarySearchFunc(list, sw, func(k known, sw int32) int { return int(k.sw - sw) })
	if ok {
		list[i].value = value
	} else {
		list = slices.Insert(list, i, known{sw, value})
	}
	text := make([]byte, 0, 8*len(list))
	for _, k := range list {
		for _, v := range [2]int32{k.sw, k.value} {
			text = append(text, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	to, ok := m.ids[string(text)]
	if !ok {
		to = int32(len(m.all))
		m.all = append(m.all, list)
		m.ids[string(text)] = to
	}
	m.sets[key] = to
	return to
}

// maxValues bounds the values that the registers of one switch can have in one scene. A vector of b
// bits in use has 2 to the b.
const maxValues = 256

// traffic is what packets of all flows can have made of the registers of the switches, in one
// scene.
type traffic struct {
	values [][]int32    // per switch: the values its registers can have, first those of mayRun
	steps  [][][2]int32 // per switch: from which value to which one packet can take them
	reach  map[[2]int32][]int32
	loud   []int32 // the switches with more than one value
	grown  bool
	full   []int32 // the switches with more values than can be told apart
}

// clear forgets all. mayRun are, per switch, the blank registers of the firmwares that it may run.
func (t *traffic) clear(mayRun [][]int32) {
	if t.values == nil {
		t.values, t.steps = make([][]int32, len(mayRun)), make([][][2]int32, len(mayRun))
	}
	t.loud, t.full = t.loud[:0], t.full[:0]
	for sw, runs := range mayRun {
		t.values[sw], t.steps[sw] = append(t.values[sw][:0], runs...), t.steps[sw][:0]
		if len(runs) > 1 {
			t.loud = append(t.loud, int32(sw))
		}
	}
	t.reach = map[[2]int32][]int32{}
}

// step notes that a packet can take the registers of sw from one value to another.
func (t *traffic) step(sw, from, to int32) {
	s := [2]int32{from, to}
	if from == to || slices.Contains(t.steps[sw], s) {
		return
	}
	if len(t.values[sw]) == 1 {
		t.loud = append(t.loud, sw)
	}
	t.steps[sw] = append(t.steps[sw], s)
	t.grown = true
	if !slices.Contains(t.values[sw], to) {
		t.values[sw] = append(t.values[sw], to)
		if len(t.values[sw]) > maxValues {
			t.full = append(t.full, sw)
		}
	}
}

// from is every value that others can make of one, itself included.
func (t *traffic) from(sw, value int32) []int32 {
	key := [2]int32{sw, value}
	if r, ok := t.reach[key]; ok {
		return r
	}
	r := []int32{value}
	for i := 0; i < len(r); i++ {
		for _, s := range t.steps[sw] {
			if s[0] == r[i] && !slices.Contains(r, s[1]) {
				r = append(r, s[1])
			}
		}
	}
	t.reach[key] = r
	return r
}
