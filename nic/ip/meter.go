package ip

import "github.com/weft-fabric/weft"

// meterTime is over how long a rate is measured. Chosen by us: what a person sees as now.
const meterTime = weft.Second

// meter counts bytes, and measures how many there were a second lately. The zero value has counted
// nothing.
type meter struct {
	bytes  uint64
	began  weft.Time // when the window began that is counted now
	now    uint64    // bytes in that window
	before uint64    // in the one before
}

func (m *meter) add(at weft.Time, bytes uint64) {
	m.roll(at)
	m.bytes += bytes
	m.now += bytes
}

// rate is in bytes a second.
func (m *meter) rate(at weft.Time) float64 {
	m.roll(at)
	old := float64(m.before) * float64(meterTime-(at-m.began)) / float64(meterTime)
	return (old + float64(m.now)) / meterTime.Duration().Seconds()
}

// roll begins another window where the time has come.
func (m *meter) roll(at weft.Time) {
	switch passed := at - m.began; {
	case passed >= 2*meterTime:
		m.began, m.before, m.now = at-passed%meterTime, 0, 0
	case passed >= meterTime:
		m.began, m.before, m.now = m.began+meterTime, m.now, 0
	}
}

// Traffic is what one NIC has carried for programs, from the IP header on.
type Traffic struct {
	In, Out         uint64  // bytes
	InRate, OutRate float64 // bytes a second, of about the last second
}
