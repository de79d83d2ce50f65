package wasm

import (
	"bytes"
	"unsafe"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// standing is a switch that an instance knows.
type standing struct {
	place     *weft.Place
	at, size  uint32 // where the guest has it
	registers []switching.Register

	tables       *tables.Tables // as it was told last; nil: none
	table, space uint32         // where the guest has that, in memory of so many bytes
}

// block is what the guest gets to read, with pointers into itself.
type block struct {
	b        []byte
	pointers []int // where its pointers are: they count from its beginning until it has an address
}

// reserve adds zeros, from a multiple of 8 on.
func (k *block) reserve(n int) (at int) {
	at = (len(k.b) + 7) &^ 7
	k.b = append(k.b, make([]byte, at+n-len(k.b))...)
	return at
}

func (k *block) u32(at int, v int) { le.PutUint32(k.b[at:], uint32(v)) }

func (k *block) point(at, to int) {
	k.u32(at, to)
	k.pointers = append(k.pointers, at)
}

// list is a list of 32-bit numbers, and its address is put at a place.
func list[T ~int | ~uint16 | ~uint32](k *block, at int, values []T) {
	if values == nil {
		return
	}
	to := k.reserve(4 * len(values))
	for i, v := range values {
		k.u32(to+4*i, int(v))
	}
	k.point(at, to)
}

// placed is where the guest has a place and which registers a switch there has. It is told once.
func (i *instance) placed(place *weft.Place) (*standing, error) {
	for int(place.Switch) >= len(i.standing) {
		i.standing = append(i.standing, standing{})
	}
	s := &i.standing[place.Switch]
	if s.place == place {
		return s, nil
	}
	k := &block{}
	k.reserve(32)
	k.u32(0, int(place.Switch))
	k.u32(4, len(place.Roles))
	roles := k.reserve(len(place.Roles))
	k.point(8, roles)
	for p, r := range place.Roles {
		k.b[roles+p] = byte(r)
	}
	ends := k.reserve(8 * len(place.Roles))
	k.point(12, ends)
	for p, n := range place.Neighbours[:min(len(place.Neighbours), len(place.Roles))] {
		k.u32(ends+8*p, int(n.Kind))
		k.u32(ends+8*p+4, int(n.Index))
	}
	name := k.reserve(len(place.Name))
	copy(k.b[name:], place.Name)
	k.point(16, name)
	k.u32(20, len(place.Name))
	if t := place.Tree; t != nil {
		if err := i.tree(k, t); err != nil {
			return nil, err
		}
	}
	if g := place.Grid; g != nil {
		at := k.reserve(8 + 16*len(g.Dims))
		k.point(28, at)
		k.u32(at, int(g.NICs))
		k.u32(at+4, len(g.Dims))
		for d, dim := range g.Dims {
			e := at + 8 + 16*d
			k.u32(e, int(dim.Size))
			k.u32(e+4, int(dim.At))
			k.u32(e+8, int(dim.Stride))
			if dim.Wrap {
				k.u32(e+12, 1)
			}
		}
	}
	at, err := i.lay(k, s)
	if err != nil {
		return nil, err
	}
	registers, err := i.registers(at)
	if err != nil {
		return nil, err
	}
	s.place, s.at, s.size, s.registers = place, at, uint32(len(k.b)), registers
	return s, nil
}

// tree writes the place in a tree.
func (i *instance) tree(k *block, t *weft.Tree) error {
	at := k.reserve(56)
	k.point(24, at)
	for n, v := range []int{t.K, t.N, int(t.Tier), t.Down, t.Ups(), int(t.Above), int(t.Below), int(t.Prefix)} {
		k.u32(at+4*n, v)
	}
	list(k, at+32, t.W)
	list(k, at+36, t.Radix)
	list(k, at+40, t.Ports)
	list(k, at+44, t.Numbers)
	if t.Position == nil {
		return nil
	}
	k.u32(at+52, len(t.Position))
	first := unsafe.SliceData(t.Position) // all places of a fabric share it, and it is large
	known, ok := i.positions[first]
	if !ok {
		var err error
		p := &block{}
		to := p.reserve(4 * len(t.Position))
		for n, v := range t.Position {
			p.u32(to+4*n, int(v))
		}
		if known, err = i.lay(p, &standing{}); err != nil {
			return err
		}
		i.positions[first] = known
	}
	k.u32(at+48, int(known))
	return nil
}

// lay puts a block into memory that the guest gives, unless the same is where one was before: the
// next fabric of a test often has the same places.
func (i *instance) lay(k *block, before *standing) (at uint32, err error) {
	if before.size == uint32(len(k.b)) {
		k.move(before.at)
		if bytes.Equal(k.b, i.memory()[before.at:][:before.size]) {
			return before.at, nil
		}
		k.move(-before.at)
	}
	if at, err = i.alloc(uint32(len(k.b))); err == nil {
		k.move(at)
		copy(i.memory()[at:], k.b)
	}
	return at, err
}

// move has the pointers of a block count from another address.
func (k *block) move(by uint32) {
	for _, p := range k.pointers {
		le.PutUint32(k.b[p:], le.Uint32(k.b[p:])+by)
	}
}

// registers asks which registers a switch has.
func (i *instance) registers(place uint32) (list []switching.Register, err error) {
	if i.fn.registers == nil {
		return nil, nil
	}
	at, err := i.call(i.fn.registers, uint64(place))
	if err != nil {
		return nil, err
	}
	w := &words{b: i.memory()}
	w.list(w.block(at, 8, "registers"), MaxRegisters, 24, "registers", func(e []byte) {
		r := switching.Register{
			Name: w.text(e, "the name of a register"), Width: w.number(e[8:], 64, "the bits of a register"),
			Expire: weft.Time(le.Uint64(e[16:])),
		}
		if (r.Width == 0 || r.Expire < 0) && w.err == nil {
			w.err = garbage("it declares register %q with %d bits, expiring after %d ps", r.Name, r.Width, r.Expire)
		}
		list = append(list, r)
	})
	return list, w.err
}
