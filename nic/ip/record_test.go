package ip_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// segment is a packet from one NIC's port to another's.
func segment(from, to uint16, seq, ack uint32, flags byte, bytes int) []byte {
	p := make([]byte, 40+bytes)
	p[0], p[9], p[32], p[33] = 0x45, 6, 0x50, flags
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], ip.Address4(weft.NICID(from)).AsSlice())
	copy(p[16:], ip.Address4(weft.NICID(to)).AsSlice())
	binary.BigEndian.PutUint16(p[20:], 1000+from)
	binary.BigEndian.PutUint16(p[22:], 1000+to)
	binary.BigEndian.PutUint32(p[24:], seq)
	binary.BigEndian.PutUint32(p[28:], ack)
	return p
}

const fin, syn, rst, ack = 1, 2, 4, 16

func TestARecordSaysWhatWasSentAgainAndHowLongNothingWentOn(t *testing.T) {
	var r ip.Record
	const first = 1<<32 - 50 // the numbers go round
	at := func(n int) weft.Time { return weft.Time(n) * weft.Millisecond }
	r.Sent(at(0), segment(0, 1, first-1, 0, syn, 0))
	r.Came(at(1), segment(1, 0, 0, first, syn|ack, 0))
	r.Sent(at(2), segment(0, 2, 0, 1, rst, 0)) // to somebody who talks of a connection that there is not
	r.Sent(at(10), segment(0, 1, first, 1, ack, 100))
	var second uint32 = 50
	r.Sent(at(11), segment(0, 1, second, 1, ack, 100))
	r.Came(at(12), segment(1, 0, 1, second, ack, 0))
	require.Equal(t, at(20-12), r.Connections(at(20))[0].Standing)
	r.Sent(at(212), segment(0, 1, second, 1, ack, 100))    // again
	r.Sent(at(213), segment(0, 1, second+60, 1, ack, 100)) // 60 of them are new
	r.Came(at(215), segment(1, 0, 1, second, ack, 0))      // acknowledges nothing new
	r.Came(at(216), segment(1, 0, 1, second+160, ack, 0))
	list := r.Connections(at(1000))
	require.Len(t, list, 1)
	c := list[0]
	require.EqualValues(t, 1+200+60, c.Bytes)
	require.EqualValues(t, 140, c.Resent)
	require.Equal(t, at(216-12), c.Longest)
	require.Zero(t, c.Standing)
	require.False(t, c.Ended)
	r.Sent(at(1001), segment(0, 1, second+160, 1, fin|ack, 0))
	require.True(t, r.Connections(at(1002))[0].Ended)
}

// Rates are those of about the last second, also a while after the last packet.
func TestARecordSaysHowManyBytesASecondAreSent(t *testing.T) {
	var r ip.Record
	at := func(n int) weft.Time { return weft.Time(n) * weft.Millisecond }
	seq := uint32(0)
	rate := func(n int) float64 { return r.Connections(at(n))[0].Rate }
	for i := range 40 { // every 100 ms, for four seconds
		r.Sent(at(100*i), segment(0, 1, seq, 1, ack, 100))
		seq += 100
		if i >= 20 {
			require.InDelta(t, 1000, rate(100*i), 101)
		}
	}
	r.Sent(at(3950), segment(0, 1, 0, 1, ack, 1000)) // again
	require.InDelta(t, 1000, rate(3999), 101)
	require.InDelta(t, 500, rate(4500), 101)
	require.Zero(t, rate(6000))
	require.Zero(t, rate(60_000))
	require.EqualValues(t, 4000, r.Connections(at(60_000))[0].Bytes)
}

func TestARecordForgetsWhatHasEndedFirst(t *testing.T) {
	var r ip.Record
	for i := range uint16(300) {
		flags := byte(syn)
		if i == 290 {
			flags |= fin
		}
		r.Sent(weft.Time(i), segment(i, 1000, 0, 0, flags, 0))
		if i == 290 {
			r.Sent(weft.Time(i), segment(500, 1000, 0, 0, syn, 0)) // takes the place of the one that ended
		}
	}
	list := r.Connections(300)
	require.Len(t, list, 256)
	require.NotEqual(t, ip.Address4(0), list[0].From.Addr(), "the oldest is forgotten")
	for _, c := range list {
		require.NotEqual(t, ip.Address4(290), c.From.Addr())
	}
}
