package manager

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel runs a function for 0 to n-1 on all processors and returns when it has run for each.
func inParallel(n int, run func(i int)) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run(i)
			}
		})
	}
	running.Wait()
}
