package tolerate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// given judges the set of the flags.
func (u *tolerateFlags) given(ctx context.Context, a asked, pair []string, stdout io.Writer) error {
	links, err := command.LinksOf(a.Graph, strings.Join(u.down, ","))
	if err != nil {
		return err
	}
	var dead []weft.LinkID
	for _, l := range links {
		if a.Graph.Links[l].BetweenSwitches() && !slices.Contains(dead, l) {
			dead = append(dead, l)
		}
	}
	if len(dead) == 0 {
		return fmt.Errorf("--down %s: links of NICs are on no way between switches: name links between switches",
			strings.Join(u.down, ","))
	}
	listed := tolerate.Listed{All: u.paths}
	if len(pair) > 0 {
		p := &direct.Pair{}
		if p.Src, err = a.Graph.SwitchByName(pair[0]); err == nil {
			p.Dst, err = a.Graph.SwitchByName(pair[1])
		}
		if err == nil && p.Src == p.Dst {
			err = fmt.Errorf("%s to itself: name two switches", pair[0])
		}
		if err != nil {
			return err
		}
		listed.Of = p
	}
	var list []tolerate.SetResult
	for _, m := range a.mechanisms {
		r, err := a.Set(ctx, m, dead, listed)
		if err != nil {
			return errors.New("interrupted, nothing is told")
		}
		list = append(list, r)
	}
	ok := true
	for _, r := range list {
		if err := u.line(stdout, r); err != nil {
			return err
		}
		ok = ok && r.Tolerated
	}
	return u.ended(stdout, func(w io.Writer) error { return printGiven(w, list, pair) }, nil, ok)
}

func printGiven(w io.Writer, list []tolerate.SetResult, pair []string) error {
	fmt.Fprintf(w, "%s without %s: %s of switches\n\n", list[0].Topology, strings.Join(list[0].Faults, " "),
		command.Counted(list[0].Pairs, "pair"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "affected", "without a way", "by")
		for _, r := range list {
			var by []string
			for _, u := range r.Uses {
				by = append(by, u.Use+" "+command.Grouped(uint64(u.Pairs)))
			}
			tab(r.Mechanisms, command.Grouped(uint64(r.Affected)),
				command.Without(len(r.Unroutable)+r.Isolated, r.Isolated), strings.Join(by, ", "))
		}
	})
	if err != nil {
		return err
	}
	printPairs(w, "joined by no live links", list[0].Parted, list[0].Isolated)
	for _, r := range list {
		printPairs(w, "without a way by "+r.Mechanisms, r.Unroutable[:min(len(r.Unroutable), tolerate.MaxParted)],
			len(r.Unroutable))
		if r.Ways == nil {
			continue
		}
		fmt.Fprintf(w, "\nby %s:\n", r.Mechanisms)
		if len(r.Ways) == 0 {
			if len(pair) > 0 {
				fmt.Fprintf(w, "%s to %s has no way\n", pair[0], pair[1])
			} else {
				fmt.Fprintln(w, "no pair is affected that has a way")
			}
			continue
		}
		if err := command.Tabbed(w, func(tab func(...any)) {
			tab("pair", "hops", "uses", "way")
			for _, way := range r.Ways {
				tab(way.Src+" to "+way.Dst, way.Hops, way.Uses, wayText(way))
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func printPairs(w io.Writer, what string, list [][2]string, n int) {
	if n == 0 {
		return
	}
	var text []string
	for _, p := range list {
		text = append(text, p[0]+" to "+p[1])
	}
	more := ""
	if n > len(list) {
		more = fmt.Sprintf(", and %s more", command.Grouped(uint64(n-len(list))))
	}
	fmt.Fprintf(w, "\n%s: %s%s\n", what, strings.Join(text, ", "), more)
}

// wayText is the way as its sub-paths.
func wayText(r tolerate.WayResult) string {
	if len(r.Subs) == 0 {
		return "any shortest path"
	}
	var text []string
	for _, s := range r.Subs {
		t := ""
		if len(s.Misroutes) > 0 {
			t = strings.Join(s.Misroutes, " ") + ", "
		}
		how := "adaptively"
		if s.Deterministic {
			how = "deterministically"
			if len(s.OtherWay) > 0 {
				how += " the other way in " + strings.Join(s.OtherWay, " and ")
			}
		}
		text = append(text, t+how+" to "+s.To)
	}
	return strings.Join(text, "; ")
}
