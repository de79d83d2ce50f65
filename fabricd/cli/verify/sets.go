package verify

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/inputs"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/verify"
)

// Bounds of the sets that are given, chosen by us.
const (
	maxGivenSets = 1_000_000
	maxSetLine   = 1 << 20 // bytes of a line of a file
)

// faultSets are the sets that the flags choose.
func (v *verifyFlags) faultSets(g *topology.Graph, stdin io.Reader) (s verify.Sets, err error) {
	given := len(v.sets) > 0 || v.setsFile != ""
	if given && len(v.ranged) > 0 {
		return s, fmt.Errorf("%s with --set or --sets: the sets are given, so there are none to choose",
			strings.Join(v.ranged, " and "))
	}
	if !given {
		s = verify.Sets{Kind: verify.Kind(v.kind), Samples: v.samples, Seed: v.seed, PerGroup: v.perGroup}
		s.Min, s.Max, err = command.ParseFaults(v.faults, v.samples > 0)
		return s, err
	}
	for i, text := range v.sets {
		set, err := parseSet(g, text)
		if err != nil {
			return s, fmt.Errorf("--set %d: %w", i+1, err)
		}
		s.List = append(s.List, set)
	}
	if v.setsFile == "" {
		return s, nil
	}
	name, r := v.setsFile, stdin
	if name == "-" {
		name = "standard input"
	} else {
		f, err := inputs.Open(name)
		if err != nil {
			return s, err
		}
		defer f.Close()
		r = f
	}
	more, err := readSets(g, name, r)
	if err == nil && len(more) == 0 {
		err = fmt.Errorf("%s holds no set: expected one a line, as s0.00-s1.00,s1.10", name)
	}
	s.List = append(s.List, more...)
	return s, err
}

// parseSet reads a set of faults: links and switches, with commas or spaces between them.
func parseSet(g *topology.Graph, text string) ([]verify.Element, error) {
	set := []verify.Element{} // not nil: a set without faults is one
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		e, err := verify.ElementByName(g, name)
		if err != nil {
			return nil, err
		}
		set = append(set, e)
	}
	return set, nil
}

// readSets reads a set from each line that holds something. The error holds all mistakes.
func readSets(g *topology.Graph, name string, r io.Reader) (sets [][]verify.Element, err error) {
	var bad document.Errors
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSetLine)
	n := 0
	for lines.Scan() && !bad.Full() {
		n++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(sets) == maxGivenSets {
			return nil, fmt.Errorf("%s:%d: more than %d sets: give them in several runs", name, n, maxGivenSets)
		}
		set, err := parseSet(g, strings.TrimSpace(text))
		if err != nil {
			bad.Add(fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		sets = append(sets, set)
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line of more than %d bytes", maxSetLine)
		}
		bad.Add(fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	return sets, bad.Err()
}
