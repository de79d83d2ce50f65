//go:build wasip1

// Command table is firmware that forwards by the tables of an engine, as examples/c/table.c.
package main

import "weft.example/firmware/weft"

const (
	byTable uint16 = iota
	noEntry
	dead
)

func init() {
	weft.Serve(func(string) (*weft.Firmware, error) {
		return &weft.Firmware{
			Name: "table-go", About: "any topology: by the tables of an engine, in Go by WebAssembly",
			Rules: []string{byTable: "table", noEntry: "table: no entry", dead: "table: the link is dead"},
			VCs:   1, Flags: weft.DestinationBased | weft.Requeues, Reads: weft.ReadsFields, Engine: "lash:layers=3",
			Work:  1 << 24, // Go's scheduler runs in it too
			Route: route,
		}, nil
	})
}

func main() {}

func route(q *weft.Request, a *weft.Answer) {
	ways := q.Ways(q.Dst, q.Fields.Path, q.Port, q.VC)
	switch {
	case len(ways) == 0 || ways[0].Port == weft.NoPort:
		a.Rule = noEntry
	case !weft.PortUp(ways[0].Port):
		a.Rule = dead
	case ways[0].VC == weft.SameVC:
		a.To(ways[0].Port, q.VC, byTable, weft.Straight)
	default:
		a.To(ways[0].Port, uint8(ways[0].VC), byTable, weft.Straight)
	}
}
