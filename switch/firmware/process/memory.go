package process

import (
	"encoding/binary"
	"sync"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// memory are the decisions of a program that is based on destinations. A nil one remembers nothing.
type memory struct {
	registers int // that the program has
	mu        sync.Mutex
	known     map[memoryKey]switching.Decision // guarded by mu
}

// memoryKey is all that such a decision depends on.
type memoryKey struct {
	place     *weft.Place
	vcs       int
	dst       weft.NICID
	at        switching.Arrival
	fields    weft.Fields
	dead      switching.PortSet
	registers string
}

// recall decides k if it remembers how.
func (m *memory) recall(k *switching.Ask) (key memoryKey, known bool) {
	if m == nil {
		return key, false
	}
	key = memoryKey{place: k.View.Place(), vcs: k.View.VCs(), dst: k.Packet.Dst, at: k.At, fields: k.Packet.Fields}
	for _, p := range deadPorts(k.View) {
		key.dead.Add(p)
	}
	var registers []byte
	for i := range m.registers {
		registers = binary.LittleEndian.AppendUint64(registers, k.View.Register(i))
	}
	key.registers = string(registers)
	m.mu.Lock()
	defer m.mu.Unlock()
	k.Decision, known = m.known[key]
	return key, known
}

// keep remembers a decision.
func (m *memory) keep(key memoryKey, d switching.Decision) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) == maxKept || m.known == nil {
		m.known = map[memoryKey]switching.Decision{}
	}
	m.known[key] = d
}
