package verify

// future says at which switches with registers a packet in a state can still come by. What it knows
// of the others will never be asked, and is forgotten: packets that differ in nothing else are then
// the same, which keeps the states few.
type future struct {
	on    bool
	bits  []uint64 // per state: the loud switches to come, as bits of so many words
	words int
	bit   map[int32]uint
	to    map[[2]int32]int32 // memory and state -> the memory that matters
}

func (u *future) forget() { u.on = false }

// work works it out from the nodes and edges that reachable has listed.
func (u *future) work(x *explorer, fs *flowSpace) {
	u.on, u.words = true, (len(x.traffic.loud)+63)/64
	u.bit, u.to = map[int32]uint{}, map[[2]int32]int32{}
	for i, sw := range x.traffic.loud {
		u.bit[sw] = uint(i)
	}
	u.bits = append(u.bits[:0], make([]uint64, len(fs.states)*u.words)...)
	all := x.nodes.all
	for _, n := range all {
		if b, ok := u.bit[fs.states[n.state].sw]; ok {
			u.of(n.state)[b/64] |= 1 << (b % 64)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(all) - 1; i >= 0; i-- { // states found late are mostly further down
			n := &all[i]
			mine := u.of(n.state)
			for _, s := range x.nodes.succ[n.from:n.to] {
				for w, bits := range u.of(all[s.node].state) {
					changed = changed || bits&^mine[w] != 0
					mine[w] |= bits
				}
			}
		}
	}
}

// of is the bits of a state.
func (u *future) of(state int32) []uint64 { return u.bits[int(state)*u.words:][:u.words] }

// matters is the part of a memory that can still be asked for by a packet in a state.
func (u *future) matters(x *explorer, memory, state int32) int32 {
	if !u.on || memory == 0 {
		return memory
	}
	key := [2]int32{memory, state}
	if to, ok := u.to[key]; ok {
		return to
	}
	to := int32(0)
	for _, k := range x.memory.all[memory] {
		if b, ok := u.bit[k.sw]; ok && u.of(state)[b/64]>>(b%64)&1 == 1 {
			to = x.memory.set(to, k.sw, k.value)
		}
	}
	u.to[key] = to
	return to
}
