package subnet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// Source is where a firmware comes from that does not come with Weft, under the name by which it is
// chosen.
type Source struct {
	Name    string // of a-z, 0-9 and '-'
	Syntax  string // of what follows the name and must; "": nothing, or the options
	About   string // one line
	On      firmware.Shape
	Options []firmware.Option // for help; what a source opens may take others
	// Open makes the firmware anew, with what follows the name and a colon; "" if nothing does.
	Open func(rest string) (firmware.Firmware, error)
	// Pin makes of what follows the name what means the very same firmware in other processes, once
	// they keep the file; Keep keeps it. nil: the name alone means the same everywhere.
	Pin  func(rest string) (pinned string, file []byte, err error)
	Keep func(file []byte) error
	// Kept reports whether what a pinned name means is kept.
	Kept func(pinned string) bool
}

// sources are those of this process. They are added before anybody asks.
var sources []Source

const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// Add has this process know sources of firmwares by their names. It is for main functions: nobody
// may ask for a routing at the same time. A name that is taken is an error.
func Add(add ...Source) error {
	for _, s := range add {
		switch {
		case strings.Trim(s.Name, nameLetters) != "" || s.Name == "":
			return fmt.Errorf("a firmware has the name %q: expected a-z, 0-9 and '-', as adaptive-link", s.Name)
		case Known(s.Name):
			return fmt.Errorf("a firmware has the name %s, which another has: choose another name", s.Name)
		}
		sources = append(sources, s)
	}
	return nil
}

// Of is the source of a firmware that is made by make, which is called anew for each fabric. What
// follows its name are the firmware's options.
func Of(make func() firmware.Firmware) Source {
	fw := make()
	return Source{
		Name: fw.Name, About: fw.About, On: fw.On, Options: fw.Options,
		Open: func(rest string) (firmware.Firmware, error) {
			fw := make()
			if fw.Route == nil && (fw.Engine == "" || fw.Programmed == nil) {
				return fw, fmt.Errorf("firmware %s has no function Route: set it, or Engine and Programmed", fw.Name)
			}
			return fw, Set(&fw, rest)
		},
	}
}

// Set sets options of a firmware as they follow its name, "step=3,way=left". A text without any
// changes nothing.
func Set(fw *firmware.Firmware, options string) error {
	if options == "" {
		return nil
	}
	if len(fw.Options) == 0 {
		return fmt.Errorf("firmware %s takes no options, found %q", fw.Name, options)
	}
	var names []string
	keys := map[string]optionKey[struct{}]{}
	for _, o := range fw.Options {
		names = append(names, o.Name)
		keys[o.Name] = optionKey[struct{}]{keyOf(o), func(_ *struct{}, value string) bool { return o.Set(value) }}
	}
	_, err := parseOptions(options, names, keys)
	return named(fw.Name, err)
}

func keyOf(o firmware.Option) Key { return Key{Name: o.Name, Values: o.Values, About: o.About} }

// entry is the source without anything behind its name. With something it is made by ByName.
func (s Source) entry() Entry {
	e := Plain(firmware.Firmware{Name: s.Name, About: s.About, On: s.On})
	for _, o := range s.Options {
		e.Keys = append(e.Keys, keyOf(o))
	}
	e.with = func(name, rest string) (Entry, error) {
		fw, err := s.Open(rest)
		if fw.Name = name; err == nil && s.Pin != nil {
			rest, _, err = s.Pin(rest)
			fw.Name = s.Name + ":" + rest
		}
		made := Plain(fw)
		if made.Keys = e.Keys; err != nil || fw.Engine == "" {
			return made, err
		}
		return byEngine(made, fw)
	}
	return e
}

// byEngine has a firmware forward by the tables that its engine computes. A module that somebody
// has sent may name it, so it may not be a file or a program.
func byEngine(e Entry, fw firmware.Firmware) (Entry, error) {
	head, _, _ := strings.Cut(fw.Engine, ":")
	var engine Entry
	var err error
	if _, ours := sourceOf(head); !ours && head != FromFiles {
		engine, err = ByName(fw.Engine)
	}
	switch {
	case err != nil:
		return e, fmt.Errorf("firmware %s: its engine: %w", fw.Name, err)
	case engine.Routes == nil:
		return e, fmt.Errorf("firmware %s: %s computes no forwarding tables: name an engine that does, as updn",
			fw.Name, fw.Engine)
	}
	e.Routes = engine.Routes
	e.New = func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
		base, vcs, err := engine.New(ctx, g)
		return forwards(fw, base), max(vcs, fw.NeedsVCs()), err
	}
	return e, nil
}

// forwards is a firmware with the program of another, and with NICs that send as the other's do.
func forwards(fw, base firmware.Firmware) firmware.Firmware {
	if base.Program == nil {
		return base
	}
	next := fw.Programmed(base.Program)
	next.Name, next.Program = fw.Name, base.Program
	next.Source, next.HeaderBytes, next.Addresses = base.Source, base.HeaderBytes, base.Addresses
	next.MostHops = cmp.Or(next.MostHops, base.MostHops)
	check := next.Check
	next.Check = func(place *weft.Place, vcs int) error {
		if err := base.Check(place, vcs); err != nil || check == nil {
			return err
		}
		return check(place, vcs)
	}
	next.Programmed = func(p *tables.Program) firmware.Firmware { return forwards(fw, base.Programmed(p)) }
	return next
}

func sourceOf(name string) (Source, bool) {
	i := slices.IndexFunc(sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		return Source{}, false
	}
	return sources[i], true
}

// Pin is a name that means the very same firmware in every process that keeps the file; no file:
// the name alone does.
func Pin(name string) (pinned string, file []byte, err error) {
	head, rest, _ := strings.Cut(name, ":")
	s, ok := sourceOf(head)
	if !ok || s.Pin == nil {
		return name, nil, nil
	}
	pinned, file, err = s.Pin(rest)
	return head + ":" + pinned, file, err
}

// Keep keeps the file of a pinned name.
func Keep(name string, file []byte) error {
	head, _, _ := strings.Cut(name, ":")
	s, ok := sourceOf(head)
	if len(file) == 0 || !ok || s.Keep == nil {
		return nil
	}
	return s.Keep(file)
}

// Sent says why a name cannot be taken that somebody else has sent, who may not have this process
// open files or start programs: it must be pinned, and its file kept. nil: it can.
func Sent(name string) error {
	head, rest, _ := strings.Cut(name, ":")
	s, ok := sourceOf(head)
	switch {
	case !ok || s.Syntax == "":
		return nil
	case s.Kept == nil:
		return fmt.Errorf("firmware %s: only the command line of this process can name it", name)
	case !s.Kept(rest):
		return fmt.Errorf("firmware %s: this process has no such module: send it, with its hash in the name", name)
	}
	return nil
}

// kinds are the names of the sources that are followed by more.
func kinds() (names []string) {
	for _, s := range sources {
		if s.Syntax != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// KindsSyntax is how these are written: "wasm:PATH[:OPTIONS]".
func KindsSyntax() (list []string) {
	for _, s := range sources {
		if s.Syntax != "" {
			list = append(list, s.Name+":"+s.Syntax)
		}
	}
	return list
}
