package api

import "github.com/weft-fabric/weft/fabricd/fabric"

// Healed is the outcome of heal, which lists what was repaired even when that is nothing.
type Healed struct {
	fabric.Outcome
	Healed []string `json:"healed"` // names of links and switches
}

// HealedOf is the outcome of heal.
func HealedOf(o fabric.Outcome) Healed { return Healed{o, append([]string{}, o.Healed...)} }
