package link_test

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// A neighbour falls silent at 60 ms. The owner does no more than sleep until Due.
func Example() {
	s := link.NewDetector(link.Liveness{Interval: 50 * weft.Millisecond, Multiplier: 3})
	s.Start(0)
	s.Up(0)
	s.Heard(60 * weft.Millisecond)
	for {
		now := s.Due()
		due := s.Tick(now)
		if due.Hello {
			fmt.Println(now, "hello")
		}
		if due.Silent {
			s.Lost(now)
			fmt.Println(now, "silent")
			return
		}
	}
	// Output:
	// 0s hello
	// 50ms hello
	// 100ms hello
	// 150ms hello
	// 200ms hello
	// 210ms silent
}
