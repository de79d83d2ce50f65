package virtual

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

const (
	// hugePage is the size of one on most processors; on others asking is in vain.
	hugePage = 2 << 20
	// collapse has a page made huge that is in use already (MADV_COLLAPSE of Linux 6.1).
	collapse = 25
)

// askForHugePages asks the system to have the heap in huge pages, as Go's runtime does not: memory that
// events are all over is then found by fewer look-ups of addresses. Whether it does is up to the system.
func (e *Engine) askForHugePages() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	heap := uintptr(unsafe.Pointer(e))
	for s := bufio.NewScanner(maps); s.Scan(); {
		var from, to uintptr
		if _, err := fmt.Sscanf(s.Text(), "%x-%x rw-p", &from, &to); err != nil || heap < from || heap >= to {
			continue
		}
		from = (from + hugePage - 1) &^ (hugePage - 1)
		for ; from+hugePage <= to; from += hugePage { // one by one: of one that is not in use it is refused
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, hugePage, syscall.MADV_HUGEPAGE)
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, hugePage, collapse)
		}
	}
}
