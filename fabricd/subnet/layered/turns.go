package layered

// turns are those that shortest paths may take: from a channel to one that leads on to a switch two
// hops away.
func (w *wires) turns() (*Turns, error) {
	near := make([]int32, w.n) // per switch: the last one found to be its neighbour, plus 1
	source := int32(-1)
	var list []int32
	return NewTurns(len(w.To), func(c int32) []int32 {
		if w.From[c] != source {
			source = w.From[c]
			near[source] = source + 1
			for _, s := range w.To[w.First[source]:w.First[source+1]] {
				near[s] = source + 1
			}
		}
		list = list[:0]
		for o := w.First[w.To[c]]; o < w.First[w.To[c]+1]; o++ {
			if near[w.To[o]] != source+1 {
				list = append(list, o)
			}
		}
		return list
	})
}
