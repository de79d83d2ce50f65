package weft

import "math/rand/v2"

// StreamKind says what a random stream is drawn for.
type StreamKind uint8

// The kinds of stream, and what numbers the streams of each kind.
const (
	StreamSwitch StreamKind = iota + 1 // choices of a switch; its SwitchID
	StreamNIC                          // traffic and choices of a NIC; its NICID
	// what an impaired link direction loses and delays; StreamNumber of its sending end
	StreamLink
	StreamTraffic    // what a traffic pattern leaves to chance; 0
	StreamFlap       // the times of a flap; the number of its report
	StreamFaults     // which elements die; 0
	StreamFaultSets  // a sampled fault set; its size << 48, plus the number of the sample
	StreamRegionSets // a sampled fault set of a region, the same for every size; the number of the sample
	StreamReturn     // when the neighbours of a switch that returns see it, in virtual time; 0
	StreamReroutes   // the order in which links die one after the other; 0
)

// Stream returns the random stream of one object of a run. The kind and the number name the object;
// the incarnation, below 2^56, counts how often the object was made before. All streams of a run
// come from this function. With one seed, different objects start at different states of the
// generator, so no two share a stream. A topology that is drawn from a seed has a stream of its
// own, see fabricd/topology/irregular.go.
func Stream(seed uint64, kind StreamKind, number, incarnation uint64) *rand.PCG {
	// one to one in (kind, incarnation), Scatter being one to one
	high := Scatter(seed + Scatter(uint64(kind)<<56|incarnation))
	return rand.NewPCG(high, Scatter(number^high))
}

// StreamNumber numbers the ends of a fabric, for streams of kind StreamLink.
func (e End) StreamNumber() uint64 {
	return uint64(e.Node.Kind)<<48 | uint64(e.Node.Index)<<16 | uint64(e.Port)
}

// Scatter mixes the bits of x, one to one: all bits of the result depend on all of x. It is the
// last step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014, figure 16).
func Scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
