package link

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// script runs steps such as "0:start 0:up 20:heard 150:tick" (milliseconds: call) on a detector,
// and returns what was due, as "150:silent", and at the end when Tick is due next. With "500:run"
// Tick is called whenever it is due until then.
func script(t *testing.T, s *detector, steps string) string {
	t.Helper()
	var got []string
	tick := func(now weft.Time) {
		due := s.tick(now)
		for _, d := range []struct {
			is   bool
			name string
		}{{due.hello, "hello"}, {due.silent, "silent"}, {due.released, "released"}} {
			if d.is {
				got = append(got, at(now)+":"+d.name)
			}
		}
	}
	for _, step := range strings.Fields(steps) {
		when, call, _ := strings.Cut(step, ":")
		f, err := strconv.ParseFloat(when, 64)
		require.NoError(t, err, step)
		now := weft.Time(f * float64(ms))
		switch call {
		case "start":
			s.start(now)
		case "stop":
			s.stop()
		case "up":
			s.up(now)
		case "lost":
			s.lost(now)
		case "heard":
			s.heard(now)
		case "sent":
			s.sent(now)
		case "tick":
			tick(now)
		case "run":
			for s.due() <= now {
				tick(s.due())
			}
		default:
			t.Fatalf("no call %q in %q", call, step)
		}
	}
	return strings.Join(append(got, "due "+at(s.due())), " ")
}

// at prints milliseconds, to the microsecond.
func at(now weft.Time) string {
	if now == weft.Never {
		return "never"
	}
	return strconv.FormatFloat(math.Round(float64(now)/float64(weft.Microsecond))/1000, 'f', -1, 64)
}

func TestASessionSaysWhatIsDueToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim, steps, want string
	}{
		{"nothing is due before the start", "1000:tick", "due never"},
		{"the first hello is due at once", "7:start 7:tick", "7:hello due 57"},
		{"hellos repeat every interval", "0:start 149:run", "0:hello 50:hello 100:hello due 150"},
		{"every frame is a hello", "0:start 0:tick 20:sent 60:sent 109:tick 110:tick", "0:hello 110:hello due 160"},
		{"a second start sends no second hello", "0:start 0:tick 10:start 10:tick", "0:hello due 50"},
		{"a stopped end sends nothing", "0:start 0:tick 10:stop 20:sent 1000:tick", "0:hello due never"},
		{"and expects nothing", "0:start 0:up 0:tick 10:stop 1000:tick", "0:hello due never"},
		{"a restarted end says hello at once", "0:start 0:tick 10:stop 20:start 20:tick", "0:hello 20:hello due 70"},
		{"before up nobody is expected", "0:start 0:sent 40:sent 80:sent 120:sent 160:sent 200:tick", "due 210"},
		{
			"a neighbour never heard is gone an interval x multiplier after up",
			"0:start 0:tick 20:up 170:run", "0:hello 50:hello 100:hello 150:hello 170:silent due 200",
		},
		{
			"a neighbour is gone an interval x multiplier after it was heard, not a millisecond earlier",
			"0:start 0:up 31:heard 31:sent 80:sent 130:sent 180:tick 181:tick", "180:hello 181:silent due 230",
		},
		{
			"frames we send do not stand for those we hear",
			"0:start 0:sent 0:up 40:sent 80:sent 120:sent 149:tick 150:tick", "150:silent due 170",
		},
		{
			"each frame heard moves the deadline",
			"0:start 0:up 0:sent 40:heard 40:sent 80:heard 80:sent 120:heard 120:sent 160:sent 200:sent 240:sent " +
				"269:tick 270:tick",
			"270:silent due 290",
		},
		{
			"silence is reported once, frames after it notwithstanding",
			"0:start 0:up 150:run 160:heard 400:run",
			"0:hello 50:hello 100:hello 150:hello 150:silent 200:hello 250:hello 300:hello 350:hello 400:hello due 450",
		},
		{
			"and again after the next up",
			"0:start 0:sent 0:up 40:sent 80:sent 120:sent 150:tick 150:lost 160:sent 190:up 200:sent 240:sent " +
				"280:sent 320:sent 339:tick 340:tick",
			"150:silent 340:silent due 370",
		},
		{
			"a link that was lost expects nobody", "0:start 0:up 10:lost 20:heard 199:run",
			"0:hello 50:hello 100:hello 150:hello due 200",
		},
		{
			"a frame that comes after the deadline but before the tick counts",
			"0:start 0:sent 0:up 40:sent 80:sent 120:sent 160:heard 160:sent 165:tick", "due 210",
		},
	} {
		s := newDetector(Liveness{Interval: 50 * ms, Multiplier: 3})
		require.Equal(t, c.want, script(t, &s, c.steps), c.claim)
	}
}

func TestWithoutAnIntervalNothingIsEverDue(t *testing.T) {
	t.Parallel()
	s := newDetector(Liveness{Multiplier: 3})
	require.Equal(t, "due never", script(t, &s, "0:start 0:up 0:tick 10:sent 20:heard 1000:tick 100000:tick"))
}

// RFC 5880, 6.8.7. At the interval itself each hello would race against the deadline that it moves.
func TestWithAMultiplierOfOneHellosComeSoonerThanTheInterval(t *testing.T) {
	t.Parallel()
	s := newDetector(Liveness{Interval: 50 * ms, Multiplier: 1})
	require.Equal(t, "0:hello 45:hello due 90", script(t, &s, "0:start 80:run"))
	require.Equal(t, "90:hello 130:silent due 135", script(t, &s, "80:up 130:run"))
}

// Two ends that last sent at other times say hello at the same one, each less than a 64th of the
// period early, and of 10 ms.
func TestHellosLeaveTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		interval, most weft.Time
	}{{50 * ms, 50 * ms / 64}, {4 * weft.Second, 10 * ms}} {
		s := newDetector(Liveness{Interval: c.interval, Multiplier: 3, Together: true})
		s.start(0)
		for now := weft.Time(0); now < 20*ms; now += ms / 10 {
			s.sent(now)
			due := s.due()
			require.Zero(t, due%c.most, "sent at %v", now)
			require.LessOrEqual(t, due, now+c.interval)
			require.Greater(t, due, now+c.interval-c.most)
			require.True(t, s.tick(due).hello)
			require.Equal(t, (due+c.interval)/c.most*c.most, s.due())
		}
	}
}

// Interval 50 ms, multiplier 3. The neighbour was heard at 40, this end sent at 45, so that Tick is
// due at 95.
func TestOurOwnAbsenceMovesTheDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim, steps, want string
	}{
		{"on time: gone at 190", "95:run 145:run 190:run", "95:hello 145:hello 190:silent due 195"},
		{"half an interval late is on time", "120:tick 190:run", "120:hello 170:hello 190:silent due 220"},
		{"more is not: 26 late, gone 26 later", "121:tick 216:run", "121:hello 171:hello 216:silent due 221"},
		{
			"stopped for long: by the lateness", "10000:tick 10095:run",
			"10000:hello 10050:hello 10095:silent due 10100",
		},
		{
			"a frame sent before the first tick forgives as much", "10000:sent 10001:tick 10095:run",
			"10050:hello 10095:silent due 10100",
		},
		{"that too from half an interval on", "120:sent 170:sent 190:tick", "190:silent due 220"},
		{"", "121:sent 171:sent 190:tick 216:tick", "216:silent due 221"},
		{
			"a neighbour heard after it has an interval x multiplier, no more",
			"10000:heard 10001:tick 10150:run", "10001:hello 10051:hello 10101:hello 10150:silent due 10151",
		},
		{
			"stopped shortly before the deadline: an interval for hellos that wait in our queues",
			"95:sent 145:sent 180:sent 10000:tick 10050:run", "10000:hello 10050:hello 10050:silent due 10100",
		},
		{
			"a second absence in the silence: by its lateness only",
			"95:sent 145:sent 180:sent 10000:tick 10048:sent 20000:tick", "10000:hello 20000:hello 20000:silent due 20050",
		},
		{
			"but again by an interval once the neighbour was heard between them",
			"95:sent 145:sent 180:sent 10000:tick 10010:heard 10050:sent 10100:sent 10150:sent 20000:tick 20050:run",
			"10000:hello 20000:hello 20050:hello 20050:silent due 20100",
		},
		{"absence is no reason to expect anybody on a link that is down", "50:lost 10000:tick", "10000:hello due 10050"},
	} {
		s := newDetector(Liveness{Interval: 50 * ms, Multiplier: 3})
		script(t, &s, "0:start 0:up 40:heard 45:sent")
		require.Equal(t, c.want, script(t, &s, c.steps), c.claim)
	}
}

func TestAnEndThatIsAlwaysLateFindsADeadNeighbourToo(t *testing.T) {
	t.Parallel()
	for _, late := range []weft.Time{26 * ms, 50 * ms, 500 * ms} {
		s := newDetector(Liveness{Interval: 50 * ms, Multiplier: 3})
		s.start(0)
		s.up(0)
		ticks, now := 1, s.due()+late
		for ; !s.tick(now).silent; now = s.due() + late {
			ticks++
			require.Less(t, ticks, 10, "late by %v", late)
		}
		require.LessOrEqual(t, now, (150+50)*ms+weft.Time(ticks)*late, "late by %v", late)
	}
}

// An exemption begins the neighbour's time anew, but only for ten detection times since it was last
// heard.
func TestExemptionsHoldASilenceOffForSoLongAndNoLonger(t *testing.T) {
	t.Parallel()
	s := newDetector(Liveness{Interval: 50 * weft.Millisecond, Multiplier: 3})
	s.start(0)
	s.exempt(10 * weft.Millisecond)
	require.Equal(t, weft.Time(0), s.due(), "nothing is expected before the link is up")
	s.up(0)
	for now := weft.Time(0); ; now += 50 * weft.Millisecond {
		s.exempt(now)
		if s.tick(now).silent {
			// Last exempted just before 1.5 s, which gives 150 ms.
			require.Equal(t, 1600*weft.Millisecond, now)
			break
		}
		require.Less(t, now, 2*weft.Second)
	}
	s.up(2 * weft.Second)
	for now := 2 * weft.Second; now <= 2250*weft.Millisecond; now += 50 * weft.Millisecond {
		if now == 2100*weft.Millisecond {
			s.exempt(now)
		}
		require.Equal(t, now == 2250*weft.Millisecond, s.tick(now).silent, "%v", now)
	}
}
