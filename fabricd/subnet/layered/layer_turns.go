package layered

import (
	"fmt"
	"math"
)

// Turns are the dependencies that can occur, numbered: those of a channel on the channels after it
// follow each other. It is read-only.
type Turns struct {
	first  []int32 // per channel: where its turns begin in to
	to     []int32 // per turn: the channel that it leads to
	from   []int32 // per turn: the channel that it leads from
	behind []int32 // per channel: where the turns that lead to it begin in into
	into   []int32
}

// NewTurns asks for the channels that may follow each channel, below channels; the list is read at
// once. More than 2^31 turns are refused.
func NewTurns(channels int, next func(channel int32) []int32) (*Turns, error) {
	t := &Turns{first: make([]int32, channels+1), behind: make([]int32, channels+1)}
	for c := range int32(channels) {
		for _, to := range next(c) {
			t.to, t.from = append(t.to, to), append(t.from, c)
			t.behind[to+1]++
		}
		if len(t.to) > math.MaxInt32 {
			return nil, fmt.Errorf("dependencies between %d channels: more than %d: take a topology of fewer ports", channels,
				math.MaxInt32)
		}
		t.first[c+1] = int32(len(t.to))
	}
	for c := range channels {
		t.behind[c+1] += t.behind[c]
	}
	t.into = make([]int32, len(t.to))
	fill := make([]int32, channels)
	for i, to := range t.to {
		t.into[t.behind[to]+fill[to]] = int32(i)
		fill[to]++
	}
	return t, nil
}

// Len is how many turns there are.
func (t *Turns) Len() int { return len(t.to) }

// Channels is how many channels there are.
func (t *Turns) Channels() int { return len(t.first) - 1 }

// Find is the turn from a channel to another, -1 when there is none.
func (t *Turns) Find(from, to int32) int32 {
	for i := t.first[from]; i < t.first[from+1]; i++ {
		if t.to[i] == to {
			return i
		}
	}
	return -1
}

// Of are the numbers of the turns from a channel: from first to before end.
func (t *Turns) Of(channel int32) (first, end int32) { return t.first[channel], t.first[channel+1] }

// Ends are the channels that a turn leads from and to.
func (t *Turns) Ends(turn int32) (from, to int32) { return t.from[turn], t.to[turn] }
