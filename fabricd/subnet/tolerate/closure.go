package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// maxGroup bounds the numbers that a group takes, elements times links and switches, chosen by us:
// 128 MB. Symmetries that would make it larger are left out, which costs time and changes no count.
const maxGroup = 32 << 20

// closure is all that generators make together, the identity first. A generator with which it would
// be too large is left out.
func closure(generators []Symmetry) []Symmetry {
	if len(generators) == 0 {
		return nil
	}
	identity := Symmetry{
		Switches: make([]weft.SwitchID, len(generators[0].Switches)),
		Links:    make([]weft.LinkID, len(generators[0].Links)),
	}
	for i := range identity.Switches {
		identity.Switches[i] = weft.SwitchID(i)
	}
	for i := range identity.Links {
		identity.Links[i] = weft.LinkID(i)
	}
	most := maxGroup / (len(identity.Links) + len(identity.Switches))
	all := []Symmetry{identity}
	var used []Symmetry
	for _, s := range generators {
		if larger := extended(all, append(used, s), most); len(larger) > len(all) {
			all, used = larger, append(used, s)
		}
	}
	return all
}

// extended is the group that another makes with the last of the generators, or that other if there
// were more than so many. It adds one coset of the other after another (Dimino's algorithm).
func extended(all, generators []Symmetry, most int) []Symmetry {
	seen := map[string]bool{}
	for _, s := range all {
		seen[key(s.Switches)] = true
	}
	base := all
	for first := 0; first < len(all); first += len(base) {
		for _, h := range generators {
			x := all[first].then(h)
			if seen[key(x.Switches)] {
				continue
			}
			if len(all)+len(base) > most {
				return base
			}
			for _, s := range base {
				next := s.then(x)
				seen[key(next.Switches)] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// then is s, and h after it.
func (s Symmetry) then(h Symmetry) Symmetry {
	both := Symmetry{Switches: make([]weft.SwitchID, len(s.Switches)), Links: make([]weft.LinkID, len(s.Links))}
	for i, image := range s.Switches {
		both.Switches[i] = h.Switches[image]
	}
	for i, image := range s.Links {
		both.Links[i] = h.Links[image]
	}
	return both
}

func key[ID ~uint16 | ~uint32](images []ID) string {
	b := make([]byte, 0, 3*len(images))
	for _, x := range images {
		b = append(b, byte(x), byte(uint32(x)>>8), byte(uint32(x)>>16))
	}
	return string(b)
}

// stabilizer are those of the symmetries that generators make together which map a region of
// ascending links onto itself.
func stabilizer(region []weft.LinkID, generators []Symmetry) []Symmetry {
	return slices.DeleteFunc(closure(generators), func(s Symmetry) bool {
		return slices.ContainsFunc(region, func(l weft.LinkID) bool {
			_, ok := slices.BinarySearch(region, s.Links[l])
			return !ok
		})
	})
}
