package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/nic"
)

// The least that is tried. Chosen by us: below, the time that a fabric takes to come up counts for
// more.
const (
	leastTail = 100 * time.Millisecond // of a run after its last step
	leastLoad = 0.01
)

// reduce makes s.best ever smaller. What saves the most time of later runs comes first.
func (s *search) reduce() {
	s.expectations()
	sized := !slices.Equal(s.want, []string{tooFew}) // a shorter run delivers less, whatever its faults
	if sized {
		s.tail()
	}
	s.steps()
	s.parameters()
	if sized {
		s.traffic()
		s.earlier()
		s.tail()
	}
	s.options()
}

// change tries s.best with one change.
func (s *search) change(trial string, change func(f *format.File)) bool {
	f := s.best
	f.Timeline = slices.Clone(f.Timeline)
	change(&f)
	return s.fails(trial, f)
}

// expectations drops those that held, which cost time to judge.
func (s *search) expectations() {
	s.change("only what failed", func(f *format.File) {
		v := reflect.ValueOf(&f.Expect).Elem()
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if !slices.Contains(s.want, name) {
				v.Field(i).SetZero()
			}
		}
	})
}

// steps finds the steps that matter, a step being what happens to one link or switch.
func (s *search) steps() {
	all := single(s.best.Timeline)
	minimise(all, func(part []format.Step) bool {
		return s.change(fmt.Sprintf("%d of %d steps", len(part), len(all)), func(f *format.File) { f.Timeline = part })
	}, s.stop)
}

// single splits steps that name several links or switches: at one instant they are one step all the
// same.
func single(steps []format.Step) (list []format.Step) {
	for _, st := range steps {
		parts := 0
		for _, field := range []func(*format.Step) *format.Names{
			func(s *format.Step) *format.Names { return &s.Cut },
			func(s *format.Step) *format.Names { return &s.Flap },
			func(s *format.Step) *format.Names { return &s.Impair },
			func(s *format.Step) *format.Names { return &s.Crash },
			func(s *format.Step) *format.Names { return &s.Restore },
			func(s *format.Step) *format.Names { return &s.Restart },
		} {
			for _, name := range *field(&st) {
				one := st
				*field(&one) = format.Names{name}
				list = append(list, one)
				parts++
			}
		}
		if parts == 0 {
			list = append(list, st)
		}
	}
	return list
}

// parameters drops each parameter of each step that is not needed.
func (s *search) parameters() {
	for i := range s.best.Timeline {
		for _, p := range []struct {
			name string
			drop func(*format.Step)
		}{
			{"jitter", func(st *format.Step) { st.Jitter = "" }},
			{"count", func(st *format.Step) { st.Count = 0 }},
			{"duty", func(st *format.Step) { st.Duty = "" }},
			{"for", func(st *format.Step) { st.For = "" }},
			{"direction", func(st *format.Step) { st.Direction = "" }},
			{"silent", func(st *format.Step) { st.Silent = false }},
			{"clear", func(st *format.Step) { st.Clear = false }},
			{"loss", func(st *format.Step) { st.Loss = "" }},
			{"delay", func(st *format.Step) { st.Delay = "" }},
			{"rate", func(st *format.Step) { st.Rate = "" }},
		} {
			was := s.best.Timeline[i]
			now := was
			if p.drop(&now); !reflect.DeepEqual(was, now) {
				s.change(fmt.Sprintf("step %d without %s", i+1, p.name), func(f *format.File) { f.Timeline[i] = now })
			}
		}
	}
}

// traffic tries none from the start, then ever lower loads.
func (s *search) traffic() {
	if s.best.Traffic != "" {
		s.change("no traffic from the start", func(f *format.File) { f.Traffic = "" })
	}
	for {
		changed := false
		ok := s.change("less traffic", func(f *format.File) {
			halve := func(text *string) {
				t, err := nic.ParseTraffic(*text)
				if err == nil && !t.Idle() && t.Load > leastLoad {
					t.Load = max(leastLoad, float64(int(t.Load*500+0.5))/1000)
					*text, changed = t.String(), true
				}
			}
			halve(&f.Traffic)
			for i := range f.Timeline {
				halve(&f.Timeline[i].Traffic)
			}
		})
		if !ok || !changed {
			return
		}
	}
}

// last is when the last step is due, and how long f runs.
func last(f format.File) (at, duration time.Duration) {
	if n := len(f.Timeline); n > 0 {
		at = f.Timeline[n-1].At.Time()
	}
	return at, f.Duration.Time()
}

// tail ends the run sooner after its last step.
func (s *search) tail() {
	for first := true; ; first = false {
		at, duration := last(s.best)
		tail := duration - at
		if tail <= leastTail {
			return
		}
		end := at + max(leastTail, tail/2).Round(time.Millisecond)
		if first {
			end = at + leastTail
		}
		ok := s.change("shorter", func(f *format.File) { f.Duration = format.Duration(end.String()) })
		if !ok && !first || ok && first {
			return
		}
	}
}

// earlier lets all steps come in half the time.
func (s *search) earlier() {
	for {
		if at, _ := last(s.best); at <= leastTail {
			return
		}
		ok := s.change("all of it faster", func(f *format.File) {
			half := func(d *format.Duration) {
				*d = format.Duration((d.Time() / 2).Round(time.Millisecond).String())
			}
			half(&f.Duration)
			for i := range f.Timeline {
				half(&f.Timeline[i].At)
			}
		})
		if !ok {
			return
		}
	}
}

// options tries the defaults.
func (s *search) options() {
	for _, o := range []struct {
		name  string
		given bool
		drop  func(f *format.File)
	}{
		{"switch", s.best.Switch != settings.Switch{}, func(f *format.File) { f.Switch = settings.Switch{} }},
		{"choices", s.best.Choices != nil, func(f *format.File) { f.Choices = nil }},
		{"programs", s.best.Programs != nil, func(f *format.File) { f.Programs = nil }},
		{"routings", s.best.Routings != nil, func(f *format.File) { f.Routings = nil }},
		{"nic", s.best.NIC != settings.NIC{}, func(f *format.File) { f.NIC = settings.NIC{} }},
		{"liveness", s.best.Liveness != settings.Liveness{}, func(f *format.File) { f.Liveness = settings.Liveness{} }},
	} {
		if o.given {
			s.change("default "+o.name, o.drop)
		}
	}
}
