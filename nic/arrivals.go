package nic

import (
	"cmp"
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
)

// The processes by which packets are generated. All have the mean that the load asks for.
const (
	Poisson  = "poisson"  // exponential gaps: packets know nothing of each other
	Normal   = "normal"   // the papers' normal approximation of it, see Arrivals.Per
	Bursts   = "bursts"   // a Poisson process that is on and off
	Periodic = "periodic" // a packet every mean gap, each NIC with a phase of its own
)

// Processes lists the arrival processes with a line about each.
func Processes() [][2]string {
	return [][2]string{
		{Poisson, "exponential gaps; unless given"},
		{Normal, "as many packets an interval as a normal draw of mean and variance per (16), each at random in its part " +
			"of the interval"},
		{Bursts, "Poisson while on; a burst has burst (16) packets on average and is on for duty (0.25) of the time"},
		{Periodic, "constant gaps from a random phase"},
	}
}

// Defaults of the arrival processes. Chosen by us: with 16 packets an interval a normal draw below
// 0 is one in 30,000.
const (
	DefaultPer   = 16
	DefaultBurst = 16
	DefaultDuty  = 0.25
)

// Arrivals says by which process a NIC generates its packets; the zero value is Poisson.
type Arrivals struct {
	Process string // one of Processes; "" is Poisson

	// Per is for Normal: an interval lasts as long as it takes to generate so many packets on
	// average, 1 to 2^20, and how many it gets is drawn from the normal distribution of that mean
	// and variance, rounded. Less than none is none, and the next interval gets so many fewer. 0
	// means DefaultPer.
	Per int
	// Burst and Duty are for Bursts: how many packets a burst has on average, 1 to 2^20, its number
	// being geometric, and which share of the time is on, above 0 and at most 1. The rate while on
	// is the mean rate / Duty, which may be more than the link carries: the send queue evens it
	// out. 0 means DefaultBurst and DefaultDuty.
	Burst, Duty float64
}

const mostPer = 1 << 20

func (a Arrivals) withDefaults() Arrivals {
	a.Process = cmp.Or(a.Process, Poisson)
	if a.Process == Normal && a.Per == 0 {
		a.Per = DefaultPer
	}
	if a.Process == Bursts && a.Burst == 0 {
		a.Burst = DefaultBurst
	}
	if a.Process == Bursts && a.Duty == 0 {
		a.Duty = DefaultDuty
	}
	return a
}

func (a Arrivals) check() error {
	a = a.withDefaults()
	switch a.Process {
	case Poisson, Normal, Bursts, Periodic:
	default:
		return &UnknownError{Kind: "arrival process", Word: a.Process, Known: first(Processes())}
	}
	switch {
	case a.Process != Normal && a.Per != 0:
		return fmt.Errorf("%s arrivals take no per: normal ones do", a.Process)
	case a.Process != Bursts && (a.Burst != 0 || a.Duty != 0):
		return fmt.Errorf("%s arrivals take no burst and no duty: bursts do", a.Process)
	case a.Process == Normal && (a.Per < 1 || a.Per > mostPer):
		return fmt.Errorf("per is how many packets an interval gets on average, 1 to %d, not %d", mostPer, a.Per)
	case a.Process == Bursts && !(a.Burst >= 1 && a.Burst <= mostPer):
		return fmt.Errorf("burst is how many packets a burst has on average, 1 to %d, not %v", mostPer, a.Burst)
	case a.Process == Bursts && !(a.Duty > 0 && a.Duty <= 1):
		return fmt.Errorf("duty is the share of the time that bursts are on, above 0 and at most 1, not %v", a.Duty)
	}
	return nil
}

// process draws the gaps between the packets of one source.
type process struct {
	mean     weft.Time
	Arrivals // complete

	// Of Bursts.
	on, off weft.Time // mean gap within a burst, and mean time between two
	last    uint64    // the probability that a packet is the last of its burst, see inParts

	// Of Normal.
	length weft.Time // of an interval
	at     weft.Time // of the latest packet, since its interval began
	n, i   int64     // packets of the interval, and how many of them have been
	debt   float64   // what earlier intervals had too many, not above 0
}

// newProcess begins a process of the given mean gap. The Arrivals have been checked.
func newProcess(a Arrivals, mean weft.Time) process {
	p := process{Arrivals: a.withDefaults(), mean: mean}
	switch p.Process {
	case Bursts:
		p.on = saturated(float64(p.Duty * float64(mean)))
		p.off = saturated(float64(float64(p.Burst*(1-p.Duty)) * float64(mean)))
		p.last = inParts(1 / p.Burst)
	case Normal:
		p.length = saturated(float64(float64(p.Per) * float64(mean)))
		p.at = p.length // one is over
	}
	return p
}

// first draws the time from the start to the first packet: the process has been running before.
func (p *process) first(r Rand) weft.Time {
	switch p.Process {
	case Bursts:
		if share(r, inParts(1-p.Duty)) {
			return gap(r, p.off) + gap(r, p.on)
		}
		return gap(r, p.on)
	case Periodic:
		return saturated(float64(fraction(r) * float64(p.mean)))
	}
	return p.next(r)
}

// next draws the time from one packet to the next.
func (p *process) next(r Rand) weft.Time {
	switch p.Process {
	case Normal:
		return p.ofInterval(r)
	case Bursts:
		if share(r, p.last) {
			return gap(r, p.off) + gap(r, p.on)
		}
		return gap(r, p.on)
	case Periodic:
		return min(p.mean, weft.Never/4)
	}
	return gap(r, p.mean)
}

// ofInterval is next for Normal. Of n packets the i-th is anywhere in the i-th n-th of the
// interval: their order is clear without keeping them.
func (p *process) ofInterval(r Rand) weft.Time {
	var passed weft.Time // from the latest packet to the beginning of the interval of the next
	for ; p.i == p.n; p.i = 0 {
		passed = min(passed+p.length-p.at, weft.Never/4)
		p.at = 0
		mean := float64(p.Per)
		x := math.Floor(p.debt + mean + float64(normal(r)*math.Sqrt(mean)) + 0.5)
		p.debt = min(x, 0)
		p.n = int64(max(x, 0))
	}
	at := saturated(float64(float64(p.length) / float64(p.n) * (float64(p.i) + fraction(r))))
	p.i++
	wait := passed + at - p.at
	p.at = at
	return max(0, wait)
}

// first lists the first words of pairs.
func first(pairs [][2]string) []string {
	list := make([]string, len(pairs))
	for i, p := range pairs {
		list[i] = p[0]
	}
	return list
}
