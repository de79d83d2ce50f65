package fault

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// MaxConnections bounds the connections that a report names; the others are counted. Chosen by us.
const MaxConnections = 8

// Connections are what programs' connections of TCP suffered while a fault was counted, of what
// they sent, as their packets tell.
type Connections struct {
	Count   int          `json:"count"`                      // connections that sent something meanwhile
	Resent  uint64       `json:"resent_bytes"`               // by all of them
	Longest float64      `json:"longest_standstill_seconds"` // of any of them
	Worst   []Connection `json:"worst"`                      // at most MaxConnections: those that stood still for longest
}

// Connection is one of them, as its sender sees it. A connection stands still while nothing of what
// it has sent is acknowledged.
type Connection struct {
	NIC        string  `json:"nic"`
	From       string  `json:"from"` // address and port, of the NIC
	To         string  `json:"to"`
	Resent     uint64  `json:"resent_bytes"`
	Standstill float64 `json:"standstill_seconds"` // the longest
}

// Add adds what one connection suffered.
func (c *Connections) Add(one Connection) {
	c.Merge(Connections{Count: 1, Resent: one.Resent, Longest: one.Standstill, Worst: []Connection{one}})
}

// Merge adds other connections.
func (c *Connections) Merge(o Connections) {
	c.Count, c.Resent, c.Longest = c.Count+o.Count, c.Resent+o.Resent, max(c.Longest, o.Longest)
	c.Worst = append(c.Worst, o.Worst...)
	slices.SortStableFunc(c.Worst, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(b.Standstill, a.Standstill), cmp.Compare(b.Resent, a.Resent),
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	c.Worst = c.Worst[:min(len(c.Worst), MaxConnections)]
}

// String tells all of them in one line.
func (c Connections) String() string {
	return fmt.Sprintf("%s, %s sent again, the longest standstill %s", english.Plural(c.Count, "connection", ""),
		humanize.IBytes(c.Resent), rounded(c.Longest))
}

// String tells one of them in one line.
func (c Connection) String() string {
	return fmt.Sprintf("%s, %s > %s: %s sent again, stood still for %s", c.NIC, c.From, c.To, humanize.IBytes(c.Resent),
		rounded(c.Standstill))
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Microsecond)
}
