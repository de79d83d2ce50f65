package verify

// nodes are the states of one flow in one scene: a packet's state, what it knows of registers, and
// the moment.
type nodes struct {
	ids   map[nodeKey]int32
	plain []int32 // per state: its node at moment 0 with nothing known, if stamped so
	stamp []uint32
	now   uint32
	all   []node
	succ  []successor
}

type nodeKey struct{ state, memory, moment int32 }

type node struct {
	nodeKey
	from, to int32 // its successors
	hops     int32 // most switches to delivery
	color    uint8 // 0 new, 1 on the way, 2 done
	bad      bool  // some choice is not delivered
	loops    bool  // some choice comes to a cycle
}

type successor struct {
	node int32
	hop  int32 // 1, or 0 when only time passes
}

func (n *nodes) clear() {
	n.now++
	if n.ids == nil || len(n.ids) > 0 {
		n.ids = map[nodeKey]int32{}
	}
	n.all, n.succ = n.all[:0], n.succ[:0]
}

func (n *nodes) id(k nodeKey) int32 {
	if k.memory == 0 && k.moment == 0 {
		for int(k.state) >= len(n.plain) {
			n.plain, n.stamp = append(n.plain, 0), append(n.stamp, 0)
		}
		if n.stamp[k.state] != n.now {
			n.stamp[k.state] = n.now
			n.plain[k.state] = int32(len(n.all))
			n.all = append(n.all, node{nodeKey: k})
		}
		return n.plain[k.state]
	}
	id, ok := n.ids[k]
	if !ok {
		id = int32(len(n.all))
		n.all = append(n.all, node{nodeKey: k})
		n.ids[k] = id
	}
	return id
}
