package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/leader"
)

func TestAFabricIsOverloadedWhileMoreIsOfferedThanCarried(t *testing.T) {
	t.Parallel()
	at := func(second, offered, carried uint64) fabric.Counted {
		return fabric.Counted{At: weft.Time(second) * weft.Second, Offered: offered, Carried: carried}
	}
	for _, c := range []struct {
		what               string
		began, middle, now fabric.Counted
		want               string
	}{
		{"all is carried", at(0, 0, 0), at(3, 3000, 2990), at(6, 6000, 5990), ""},
		{"nothing is offered", at(0, 0, 0), at(3, 0, 0), at(6, 0, 0), ""},
		{
			"a third is carried", at(0, 0, 0), at(3, 390_000, 144_000), at(6, 780_000, 288_000),
			"more is offered than carried: of 130000 packets a second, 48000 leave the fabric",
		},
		{
			"nothing moves", at(0, 1000, 500), at(3, 2000, 500), at(6, 3000, 500),
			"more is offered than carried: of 333 packets a second, 0 leave the fabric",
		},
		{"queues filled, and are full", at(0, 0, 0), at(3, 3000, 1000), at(6, 6000, 4000), ""},
		{"it began just now", at(0, 0, 0), at(3, 3000, 3000), at(6, 6000, 4000), ""},
		{"the backlog is worked off", at(0, 9000, 1000), at(3, 9000, 3000), at(6, 9000, 5000), ""},
		{"few packets, by chance", at(0, 0, 0), at(3, 20, 5), at(6, 40, 20), ""},
		{"too short a time", at(0, 0, 0), at(1, 3000, 0), at(2, 6000, 0), ""},
		{"an account that was put right", at(0, 9000, 9000), at(3, 18_000, 9000), at(6, 17_000, 8000), ""},
	} {
		assert.Equal(t, c.want, fabric.Overloaded(c.began, c.middle, c.now).String(), c.what)
	}
}

func TestWhoseMachineIsBehindIsToldAFactorThatItBears(t *testing.T) {
	t.Parallel()
	late := leader.Tempo{Factor: 1, Late: 1e3, Fixed: true}
	assert.Equal(t, "the machine carries 5% of what is offered: slow it with linkmon time-factor 0.05",
		fabric.Overload{Offered: 1000, Carried: 50}.Trouble(late))
	assert.Equal(t, "the machine carries 90% of what is offered: slow it with linkmon time-factor 0.25",
		fabric.Overload{Offered: 1000, Carried: 900}.Trouble(late))
	assert.Equal(t, "the machine is late, so latencies are its own: slow it with linkmon time-factor 0.25",
		fabric.Overload{}.Trouble(late))
}

func TestOverloadIsSeenSoonAndEndsSoon(t *testing.T) {
	t.Parallel()
	var w fabric.OverloadWatch
	var c fabric.Counted
	over := map[int]bool{}
	for second := range 40 {
		c.At = weft.Time(second)*weft.Second + weft.Time(second%3)*weft.Millisecond // ticks come late
		if over[second] = w.Next(c) != (fabric.Overload{}); second < 20 {
			c.Offered, c.Carried = c.Offered+1000, c.Carried+400
		} else {
			c.Offered, c.Carried = c.Offered+400, c.Carried+500
		}
	}
	for second, is := range over {
		switch {
		case second < 6:
			assert.False(t, is, "%d s: it is not known yet", second)
		case second >= 8 && second <= 20:
			assert.True(t, is, "%d s", second)
		case second > 24:
			assert.False(t, is, "%d s: it is over", second)
		}
	}
}
