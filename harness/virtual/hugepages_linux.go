package virtual

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

const (
	// hugePage is the size of one on most processors; on others asking is in vain.
	hugePage = 2 << 20
	// collapse has a page made huge that is in use already (MADV_COLLAPSE of Linux 6.1).
	collapse = 25
	// heapSpan is how far apart parts of the heap are at most. Go's runtime maps them 64 MB by 64 MB,
	// and the system lists one that has been asked for apart from the next.
	heapSpan = 1 << 36
)

// askForHugePages asks the system to have the heap in huge pages, as Go's runtime does not: memory
// that events are all over is then found by fewer look-ups of addresses. Whether it does is up to
// the system.
func (e *Engine) askForHugePages() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	eachHugePage(maps, uintptr(unsafe.Pointer(e)), func(page uintptr) { // one by one: it is refused for one not in use
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, page, hugePage, syscall.MADV_HUGEPAGE)
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, page, hugePage, collapse)
	})
}

// eachHugePage calls f for each address at which a huge page fits into the heap, given an address in
// the heap and what the system says of this process's memory.
func eachHugePage(maps io.Reader, heap uintptr, f func(page uintptr)) {
	for s := bufio.NewScanner(maps); s.Scan(); {
		var from, to uintptr
		if _, err := fmt.Sscanf(s.Text(), "%x-%x rw-p", &from, &to); err != nil ||
			max(heap, to)-min(heap, from) > heapSpan {
			continue
		}
		from = (from + hugePage - 1) &^ (hugePage - 1)
		for ; from+hugePage <= to; from += hugePage {
			f(from)
		}
	}
}
