package link_test

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Two ends come up; then one falls silent. The owner of the other does no more than sleep until
// Due.
func Example() {
	c := link.Config{VCs: 1, Buffer: 2, Liveness: link.Liveness{Interval: 50 * weft.Millisecond, Multiplier: 3}}
	a, b := link.New(c), link.New(c)
	a.Signal(0, true)
	b.Signal(0, true)
	send := func(now weft.Time, from, to *link.End) {
		var f weft.Frame
		from.Stamp(now, &f)
		if v, _ := to.Receive(now, &f); v.CameUp {
			fmt.Println(now, "up with", to.Credits(0), "credits")
		}
	}
	for a.Owes() || b.Owes() {
		send(0, &a, &b)
		send(0, &b, &a)
	}
	send(60*weft.Millisecond, &b, &a) // the last frame of b
	for {
		now := a.Due()
		lost, hello := a.Tick(now)
		if lost {
			fmt.Println(now, "silent")
			return
		}
		if hello {
			fmt.Println(now, "hello")
			send(now, &a, &b)
		}
	}
	// Output:
	// 0s up with 2 credits
	// 0s up with 2 credits
	// 50ms hello
	// 100ms hello
	// 150ms hello
	// 200ms hello
	// 210ms silent
}
