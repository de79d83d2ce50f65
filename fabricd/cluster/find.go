package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
)

// ErrNoAgents means that none is there.
var ErrNoAgents = errors.New("no agent answers")

// Find asks which agents are there: those of these names, all when there are none, in the order of
// their names, with what they run. It is an error when one that is named is missing, when two have
// the same name, and when one is of another version.
func Find(ctx context.Context, agents *bus.Client, mine bus.Build, names []string) ([]Status, error) {
	found, err := agents.Discover(ctx, bus.AgentService, func(f []bus.Found) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(f, func(f bus.Found) bool { return f.Metadata["name"] == name })
		})
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("cluster: %w at %s: start one on each host, as: fabricd agent --server %s, with "+
			"credentials of the same account where the server has accounts", ErrNoAgents, agents.URL(), agents.URL())
	}
	var all []Status
	var wrong []error
	for _, f := range found {
		s, err := statusOf(f)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all,
		func(a, b Status) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
	chosen, err := choose(all, names)
	if err != nil {
		return nil, errors.Join(append(wrong, err)...)
	}
	if len(names) == 0 && len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	for _, s := range chosen {
		wrong = append(wrong, mine.Fits(fmt.Sprintf("cluster: agent %s on host %s", s.Name, s.Host), s.Version))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return chosen, look(ctx, agents, chosen)
}

// choose takes those that are named, which are sorted by name, each once.
func choose(all []Status, names []string) ([]Status, error) {
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Name == b.Name && (len(names) == 0 || slices.Contains(names, a.Name)) {
			return nil, fmt.Errorf("cluster: two agents are called %s: process %d on host %s and process %d on host %s: end "+
				"one, or give it another --name",
				a.Name, a.PID, a.Host, b.PID, b.Host)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	var chosen []Status
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("cluster: %w", document.Unknown("agent", name, known))
		}
		if slices.ContainsFunc(chosen, func(s Status) bool { return s.Name == name }) {
			return nil, fmt.Errorf("cluster: agent %s is named twice", name)
		}
		chosen = append(chosen, all[i])
	}
	slices.SortFunc(chosen, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return chosen, nil
}

// look asks agents what they run, all at once.
func look(ctx context.Context, agents *bus.Client, of []Status) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	errs := make([]error, len(of))
	var wg sync.WaitGroup
	for i := range of {
		wg.Go(func() {
			if s, err := ask[Status](ctx, agents, of[i].Name, verbStatus, nil); err != nil {
				errs[i] = err
			} else {
				of[i] = s
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
