package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/namespace"
)

// speedFlag is the flag by which a command tells the page how fast its program goes.
func speedFlag(f *pflag.FlagSet, unit *string, usual string) {
	f.StringVar(unit, "rate", usual,
		"have the page draw how fast the program goes: the number before this `UNIT` in a line that it prints, as steps/s; "+
			"empty: none")
}

// Bounds of what is read and told. Chosen by us.
const (
	maxRateLine = 4096                   // bytes of a line in which a rate is looked for
	tellEvery   = 100 * time.Millisecond // at most
	restTime    = time.Second            // for what is left in the output of a program that has ended
)

// speedReader passes the output of a program on, and tells of the rates in it.
type speedReader struct {
	out  io.Writer
	rate *regexp.Regexp
	tell func(value float64)
	line []byte    // so far; bound: maxRateLine
	told time.Time // last
}

func newSpeedReader(out io.Writer, unit string, tell func(float64)) *speedReader {
	number := `([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*`
	rate := regexp.MustCompile(`(?:^|[^\w.])` + number + regexp.QuoteMeta(unit) + `(?:\W|$)`)
	return &speedReader{out: out, tell: tell, rate: rate}
}

// Write implements io.Writer.
func (r *speedReader) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		r.line = append(r.line, part[:min(len(part), maxRateLine-len(r.line))]...)
		if whole {
			r.read()
			r.line = r.line[:0]
		}
		rest = after
	}
	return r.out.Write(text)
}

// read looks for a rate in the line.
func (r *speedReader) read() {
	found := r.rate.FindSubmatch(r.line)
	if found == nil || time.Since(r.told) < tellEvery {
		return
	}
	if value, err := strconv.ParseFloat(string(found[1]), 64); err == nil {
		r.told = time.Now()
		r.tell(value)
	}
}

// withSpeed calls run with an output for a program, and has the page draw the rates that the
// program prints there. Without a unit it is our own output.
func withSpeed(n *namespace.Namespace, program, unit string, run func(out *os.File) error) error {
	if unit == "" {
		return run(os.Stdout)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("output of %s: %w", program, err)
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		name := filepath.Base(program)
		_, _ = io.Copy(newSpeedReader(os.Stdout, unit, func(value float64) { _ = n.Tell(name, unit, value) }), from)
		_ = from.Close() // a program that goes on hears that nobody reads
	}()
	err = run(to)
	_ = to.Close()
	_ = from.SetReadDeadline(time.Now().Add(restTime)) // what it has left running may keep its output
	<-passed
	return err
}
