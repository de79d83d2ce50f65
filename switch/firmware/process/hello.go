package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Version is that of the protocol, docs/reference/exec.md.
const Version = 1

// Bounds on what a program may say and have remembered. Chosen by us, far above what any firmware
// needs.
const (
	MaxMessage   = 1 << 20 // bytes
	maxText      = 256     // bytes
	maxRegisters = 64
	maxRules     = 1 << 10
	maxKept      = 1 << 17 // decisions; then all are forgotten
	maxPlaces    = 1 << 16 // more than switches that one machine runs; then all are told again
)

// hello is the answer of a program to the first message.
type hello struct {
	Version          int                `json:"version"`
	Error            string             `json:"error"` // what is wrong with the options
	Name             string             `json:"name"`
	About            string             `json:"about"`
	On               string             `json:"on"` // anything, trees or grids
	VCs              int                `json:"vcs"`
	MaxHops          int                `json:"max_hops"`
	Registers        []register         `json:"registers"`
	Options          []switching.Option `json:"options"`
	Reads            []string           `json:"reads"`     // queues, draw, now
	Tolerates        []string           `json:"tolerates"` // links, switches; one: one fault only
	DestinationBased bool               `json:"destination_based"`
	Symmetric        bool               `json:"symmetric"`
	Notifies         bool               `json:"notifies"`
	Requeue          bool               `json:"requeue"` // see switching.Firmware.CheckRequeue
	Format           string             `json:"format"`  // of all that follows: json or msgpack
}

type register struct {
	Name          string  `json:"name"`
	Width         int     `json:"width"`
	ExpireSeconds float64 `json:"expire_seconds"`
}

var shapes = map[string]switching.Shape{
	"": switching.Anything, "anything": switching.Anything, "trees": switching.Trees, "grids": switching.Grids,
}

// note sets what each word stands for.
func note(list []string, what string, words map[string]*bool) error {
	for _, w := range list {
		if words[w] == nil {
			return fmt.Errorf("its hello %s %.80q, expected %s", what, w, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		*words[w] = true
	}
	return nil
}

// firmware is what h declares; the error says what of it cannot be.
func (h *hello) firmware() (f switching.Firmware, err error) {
	on, known := shapes[h.On]
	switch {
	case h.Version != Version:
		return f, fmt.Errorf("it speaks version %d of the protocol, expected %d as docs/reference/exec.md has it",
			h.Version, Version)
	case h.Error != "":
		return f, fmt.Errorf("it refuses its options: %.*s", maxText, h.Error)
	case h.Name == "":
		return f, errors.New("its hello has no name")
	case !known:
		return f, fmt.Errorf("its hello has on=%.80q, expected anything, trees or grids", h.On)
	case h.VCs < 0 || h.VCs > weft.MaxVCs:
		return f, fmt.Errorf("its hello has vcs=%d, expected 1 to %d", h.VCs, weft.MaxVCs)
	case h.MaxHops < 0 || h.MaxHops > weft.MaxHops:
		return f, fmt.Errorf("its hello has max_hops=%d, expected 1 to %d", h.MaxHops, weft.MaxHops)
	case len(h.Registers) > maxRegisters:
		return f, fmt.Errorf("its hello has %d registers, expected at most %d", len(h.Registers), maxRegisters)
	case h.Format != "" && h.Format != "json" && h.Format != "msgpack":
		return f, fmt.Errorf("its hello has format=%.80q, expected json or msgpack", h.Format)
	}
	f = switching.Firmware{
		Name: h.Name, About: h.About, On: on, VCs: h.VCs, MostHops: h.MaxHops,
		DestinationBased: h.DestinationBased, Symmetric: h.Symmetric, Notifies: h.Notifies,
	}
	reads, bears := &f.Reads, &f.Tolerance
	if err := errors.Join(
		note(h.Reads, "reads", map[string]*bool{"queues": &reads.Queues, "draw": &reads.Draw, "now": &reads.Now}),
		note(h.Tolerates, "tolerates", map[string]*bool{
			"links": &bears.Links, "switches": &bears.Switches,
			"one": &bears.One,
		}),
	); err != nil {
		return f, err
	}
	for _, o := range h.Options {
		o.Set = func(string) bool { return true } // it has been started with the value
		f.Options = append(f.Options, o)
	}
	var registers []switching.Register
	for _, r := range h.Registers {
		if r.Name == "" || r.Width < 1 || r.Width > 64 || r.ExpireSeconds < 0 || r.ExpireSeconds > 1e6 {
			return f, fmt.Errorf("its hello has register %.80q of %d bits for %v s, "+
				"expected a name, 1 to 64 and a time", r.Name, r.Width, r.ExpireSeconds)
		}
		expire := weft.Time(r.ExpireSeconds * float64(weft.Second))
		registers = append(registers, switching.Register{Name: r.Name, Width: r.Width, Expire: expire})
	}
	if registers != nil {
		f.Registers = func(*weft.Place) []switching.Register { return registers }
	}
	if h.Requeue {
		f.CheckRequeue = func(*weft.Place) error { return nil }
	}
	return f, nil
}
