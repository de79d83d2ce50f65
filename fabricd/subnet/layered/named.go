package layered

import (
	"fmt"
	"strings"
)

// named is the name of an engine with the options that are not defaults, as routings are named.
func (o Options) named(engine string) string {
	var list []string
	add := func(given bool, key string, value any) {
		if given {
			list = append(list, fmt.Sprintf("%s=%v", key, value))
		}
	}
	add(o.Layers != 0, "layers", o.Layers)
	add(o.Seed != 0, "seed", o.Seed)
	add(o.Tree == DepthFirst, "tree", "dfs")
	add(o.Root != "" && o.Root != "low", "root", o.Root)
	add(o.InPort != Default, "in-port", o.InPort == On)
	add(o.Balance != Default, "balance", o.Balance == On)
	add(o.Step4 != Default, "step4", o.Step4 == On)
	add(o.Paths == ByPair, "paths", "pair")
	add(o.Rounds != 0, "rounds", o.Rounds)
	add(o.Both, "both", true)
	add(o.Limit != 0, "limit", o.Limit)
	add(o.Fallback == FallUpDn, "fallback", "updn")
	add(o.Fallback == Longer, "fallback", "longer")
	add(o.Move != Default, "move", o.Move == On)
	if list == nil {
		return engine
	}
	return engine + ":" + strings.Join(list, ",")
}
