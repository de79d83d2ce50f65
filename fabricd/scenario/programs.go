package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Program is one that a scenario starts.
type Program struct {
	Name    string
	NIC     string // by name
	Command []string
	Dir     string        // where it begins
	Exit    *int          // expected
	Output  string        // a line has it, or matches it
	Within  time.Duration // 0: not judged
}

// NICs are those of a fabric that programs may have.
type NICs interface {
	// Run runs a program to its end, with its output and errors to a file, and passes signals on to
	// it. The exit code is the program's, or 128 and the signal that ended it.
	Run(p *Program, output *os.File, signals <-chan os.Signal) (code int, err error)
	// Close ends all programs, and returns when they and what they started have ended.
	Close() error
}

// ProgramResult is how a program of a scenario ended.
type ProgramResult struct {
	Name    string   `json:"name"`
	NIC     string   `json:"nic"`
	Command []string `json:"command"`
	Started float64  `json:"started_seconds"`            // since traffic started
	Took    float64  `json:"took_seconds"`               // until it ended, or the scenario did
	Exit    *int     `json:"exit" jsonschema:"nullable"` // nil: it did not end by itself
	Error   string   `json:"error,omitempty"`            // it could not be started, or lost its network
	Output  string   `json:"output"`                     // the end of it, with its errors
	Bytes   uint64   `json:"output_bytes"`               // of all of it
}

// String says in a line how it ended.
func (r ProgramResult) String() string {
	how := fmt.Sprintf("ran for %.2f s, until the scenario ended", r.Took)
	switch {
	case r.Error != "":
		how = r.Error
	case r.Exit != nil:
		how = fmt.Sprintf("ended with exit code %d after %.2f s", *r.Exit, r.Took)
	}
	return fmt.Sprintf("program %s on %s %s", r.Name, r.NIC, how)
}

// maxPrograms bounds the programs of a scenario; chosen by us.
const maxPrograms = 1024

// programs reads what a scenario starts, and puts the starts into its timeline.
func (p *parser) programs(list []format.Program, g *topology.Graph, s *Scenario) {
	if len(list) > maxPrograms {
		p.fail("$.programs", fmt.Errorf("%d programs: at most %d", len(list), maxPrograms))
		return
	}
	s.Programs = make([]Program, len(list))
	names := map[string]bool{}
	for i, f := range list {
		path := fmt.Sprintf("$.programs[%d]", i)
		made := Program{
			NIC: f.On, Command: f.Command, Dir: filepath.Dir(s.Path), Exit: f.Expect.Exit, Output: f.Expect.Output,
		}
		_, err := g.NICByName(f.On)
		p.fail(path+".on", err)
		if len(f.Command) == 0 || f.Command[0] == "" {
			p.fail(path+".command", errors.New("which program? name it, as in [iperf3, --server]"))
			continue
		}
		if made.Name = cmp.Or(f.Name, filepath.Base(f.Command[0])); f.Name != "" && names[f.Name] {
			p.fail(path+".name", fmt.Errorf("another program has the name %s", f.Name))
		}
		names[made.Name] = true
		if f.Expect.Exit != nil && (*f.Expect.Exit < 0 || *f.Expect.Exit > 255) {
			p.fail(path+".expect.exit", fmt.Errorf("expected 0 to 255, found %d", *f.Expect.Exit))
		}
		within := read[fault.Duration](p, path+".expect.within", string(f.Expect.Within))
		p.fail(path+".expect.within", above(within, "within"))
		if within != nil {
			made.Within = time.Duration(*within)
		}
		at := time.Duration(0)
		if f.At != "" {
			at = p.duration(path+".at", f.At)
		}
		switch {
		case at > s.Duration:
			p.fail(path+".at", fmt.Errorf("%v is after the end of the scenario at %v: "+
				"lengthen duration or start it sooner", at, s.Duration))
		case at+made.Within > s.Duration:
			p.fail(path+".expect.within", fmt.Errorf("%v after its start is after the end of the scenario at %v: "+
				"lengthen duration or start it sooner", made.Within, s.Duration))
		}
		s.Programs[i] = made
		s.Timeline = append(s.Timeline, Action{
			At: at, Text: fmt.Sprintf("start %s on %s", made.Name, made.NIC), Program: &s.Programs[i],
		})
	}
	slices.SortStableFunc(s.Timeline, func(a, b Action) int { return cmp.Compare(a.At, b.At) })
}

// mayStart reports why the programs of a scenario cannot be started.
func (r *Runner) mayStart(s *Scenario) error {
	switch {
	case len(s.Programs) == 0:
		return nil
	case r.Runtime != nil:
		return errors.New("programs run by the clock of this machine: run the scenario live, without --virtual")
	case r.NICs == nil:
		return fmt.Errorf("%s starts programs, as %s on %s: allow it with --programs if you trust the file", s.Name,
			s.Programs[0].Command[0], s.Programs[0].NIC)
	}
	return nil
}

// programs are those of a run. Its methods but those of goroutines are for one goroutine; all do
// nothing where there are none.
type programs struct {
	nics    NICs
	fabric  *fabric.Fabric
	began   weft.Time
	list    []*started // by number of the program, nil: it has not been started
	all     []Program
	running sync.WaitGroup
	ended   bool
}

// openNICs has the NICs of all programs ready before the traffic starts, so that what is missing is
// said at once.
func (r *run) openNICs(ctx context.Context) error {
	var names []string
	for _, p := range r.scenario.Programs {
		if !slices.Contains(names, p.NIC) {
			names = append(names, p.NIC)
		}
	}
	nics, err := r.NICs(ctx, r.fabric, names)
	if err != nil {
		return err
	}
	r.programs = &programs{
		nics: nics, fabric: r.fabric, began: r.fabric.Now(), all: r.scenario.Programs,
		list: make([]*started, len(r.scenario.Programs)),
	}
	return nil
}

// started is a program that was started.
type started struct {
	*Program
	at      weft.Time
	signals chan os.Signal // cap 1: one is sent
	output  *output
	ends    chan struct{} // closed when it has ended; what is below is constant from then on

	took weft.Time
	code int
	err  error

	stopped bool // by the end of the scenario; owned by programs
}

// start starts a program. What goes wrong is judged.
func (p *programs) start(one *Program) {
	s := &started{
		Program: one, at: p.fabric.Now(), signals: make(chan os.Signal, 1), ends: make(chan struct{}),
		output: newOutput(one.Output),
	}
	for i := range p.all {
		if &p.all[i] == one {
			p.list[i] = s
		}
	}
	from, to, err := os.Pipe()
	if err != nil {
		s.err = err
		close(s.ends)
		return
	}
	p.running.Go(func() {
		_ = s.output.readAll(from) // it ends when all have ended that may write
		_ = from.Close()
	})
	p.running.Go(func() {
		defer close(s.ends)
		s.code, s.err = p.nics.Run(one, to, s.signals)
		_ = to.Close()
		s.took = p.fabric.Now() - s.at
	})
}

// endTime is how long programs that are asked to end may take to do so. Chosen by us.
const endTime = 2 * time.Second

// end ends all programs that still run: it asks them, and then takes their NICs.
func (p *programs) end() error {
	if p == nil || p.ended {
		return nil
	}
	p.ended = true
	late, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for _, s := range p.list {
		if s == nil {
			continue
		}
		select {
		case <-s.ends:
		default:
			s.stopped = true
			s.signals <- syscall.SIGTERM
		}
	}
	for _, s := range p.list {
		if s == nil {
			continue
		}
		select {
		case <-s.ends:
		case <-late.Done():
		}
	}
	err := p.nics.Close()
	p.running.Wait()
	return err
}

// results are how the programs ended, when they have.
func (p *programs) results() (list []ProgramResult) {
	if p == nil {
		return nil
	}
	for i := range p.all {
		one, s := &p.all[i], p.list[i]
		r := ProgramResult{Name: one.Name, NIC: one.NIC, Command: one.Command}
		switch {
		case s == nil:
			r.Error = "was not started"
		default:
			r.Started, r.Took = (s.at - p.began).Duration().Seconds(), s.took.Duration().Seconds()
			r.Output, r.Bytes = s.output.end()
			if s.err != nil && !s.stopped {
				r.Error = "has failed: " + s.err.Error()
			} else if !s.stopped {
				r.Exit = new(s.code)
			}
		}
		list = append(list, r)
	}
	return list
}

// judge judges what is expected of programs, when they have ended.
func (p *programs) judge(fail func(name, format string, args ...any)) {
	if p == nil {
		return
	}
	for i, r := range p.results() {
		one, s := &p.all[i], p.list[i]
		if s == nil {
			fail("programs", "%s", r)
			continue
		}
		said := ""
		if line := s.output.last(); line != "" {
			said = fmt.Sprintf("; its last line: %q", line)
		}
		switch within := one.Within.Seconds(); {
		case r.Error != "":
			fail("programs", "%s", r)
		case one.Exit != nil && (r.Exit == nil || *r.Exit != *one.Exit):
			fail("programs", "exit %d: %s%s", *one.Exit, r, said)
		case one.Within > 0 && (r.Exit == nil || r.Took > within):
			fail("programs", "within %v: %s%s", one.Within, r, said)
		}
		if one.Output != "" && !s.output.found() {
			fail("programs", "output %q: no line of %s on %s matches%s", one.Output, r.Name, r.NIC, said)
		}
	}
}
