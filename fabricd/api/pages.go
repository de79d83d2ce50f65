package api

import (
	"fmt"
)

// pageBytes bounds one page of a frame: half of what a NATS message carries unless its broker is
// told otherwise (1 MB).
const pageBytes = 512 << 10

// pages encodes f, in several pages when it has more than so many bytes.
func pages(f Frame, limit int) [][]byte {
	list := split(f, limit)
	if len(list) == 1 {
		return [][]byte{encodeFrame(f)}
	}
	out := make([][]byte, len(list))
	for i, p := range list {
		p.Page, p.Pages = i, len(list)
		out[i] = encodeFrame(p)
	}
	return out
}

// split halves the lists of f until each part fits, or has nothing left to halve.
func split(f Frame, limit int) []Frame {
	const numbers = 64 // bytes of the page's numbers
	most := max(len(f.Links), len(f.Switches), len(f.Events), len(f.Faults), len(f.Hops), len(f.History))
	if most < 2 || len(encodeFrame(f))+numbers <= limit {
		return []Frame{f}
	}
	a, b := f, f
	a.Links, b.Links = halves(f.Links)
	a.Switches, b.Switches = halves(f.Switches)
	a.Events, b.Events = halves(f.Events)
	a.Faults, b.Faults = halves(f.Faults)
	a.Hops, b.Hops = halves(f.Hops)
	a.History, b.History = halves(f.History)
	return append(split(a, limit), split(b, limit)...)
}

func halves[T any](list []T) (a, b []T) { return list[:len(list)/2], list[len(list)/2:] }

// join puts pages together again. The zero value expects the first page of a frame.
type join struct {
	f    Frame
	next int
}

// add takes the next page and returns the frame when it is whole. Pages that are not in order are
// an error, and forgotten.
func (j *join) add(p Frame) (f Frame, whole bool, err error) {
	if p.Pages <= 1 {
		j.next = 0
		return p, true, nil
	}
	if p.Page != j.next || p.Page > 0 && (p.Run != j.f.Run || p.Seq != j.f.Seq || p.Pages != j.f.Pages) {
		want := j.next
		j.next = 0
		return f, false, fmt.Errorf("page %d of %d of frame %d, where page %d was expected: pages are missing", p.Page,
			p.Pages, p.Seq, want)
	}
	if p.Page == 0 {
		j.f = p
	} else {
		j.f.Links = append(j.f.Links, p.Links...)
		j.f.Switches = append(j.f.Switches, p.Switches...)
		j.f.Events = append(j.f.Events, p.Events...)
		j.f.Faults = append(j.f.Faults, p.Faults...)
		j.f.Hops = append(j.f.Hops, p.Hops...)
		j.f.History = append(j.f.History, p.History...)
	}
	if j.next++; j.next < p.Pages {
		return f, false, nil
	}
	f, j.f, j.next = j.f, Frame{}, 0
	f.Page, f.Pages = 0, 0
	return f, true, nil
}
