package cluster

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Room is the room that a host offers, or that a host takes.
type Room struct {
	Ports    int   `json:"ports"`              // of switches and NICs together
	Switches int   `json:"switches,omitempty"` // of an offer 0: any number
	Cores    int   `json:"cores,omitempty"`    // of an offer
	Memory   int64 `json:"memory,omitempty"`   // of an offer, in bytes
}

// The memory that a host takes: measured by BenchmarkSize of package fabric, 26 to 29 KB of heap
// and stacks for each port of a switch or NIC with the papers' buffers
// (docs/explanation/performance.md), rounded up by a tenth for what the collector has not
// collected; and what a process takes without any.
const (
	bytesPerPort = 32 << 10
	bytesBase    = 64 << 20
)

// OfferOf is the room of a host that offers so many bytes, or as many as it has left when memory is
// 0, and so many cores, all when cores is 0. Switches is the most it takes of them, 0 any number.
func OfferOf(memory int64, cores, switches int) (Room, error) {
	r := Room{Switches: switches, Cores: cores, Memory: memory}
	if r.Cores == 0 {
		r.Cores = runtime.GOMAXPROCS(0)
	}
	if r.Memory == 0 {
		free, err := memoryLeft("/")
		if err != nil {
			return r, fmt.Errorf("the memory that this host has left is not known: "+
				"say how much to offer with --memory, as 4GiB: %w", err)
		}
		r.Memory = free / 4 * 3 // the rest is for others; chosen by us
	}
	if r.Ports = int((r.Memory - bytesBase) / bytesPerPort); r.Ports < 1 {
		return r, fmt.Errorf("%s is too little memory to offer: a process takes %s, and each port of a switch or NIC %s",
			Bytes(r.Memory), Bytes(bytesBase), Bytes(bytesPerPort))
	}
	return r, nil
}

// Minus is the rest of an offer.
func (r Room) Minus(used Room) Room {
	r.Ports = max(r.Ports-used.Ports, 0)
	if r.Switches > 0 {
		if r.Switches -= used.Switches; r.Switches <= 0 {
			r.Switches, r.Ports = 0, 0 // 0 switches would mean any number
		}
	}
	return r
}

// Holds says whether what is left of an offer is room for a host, and else how much is missing.
func (r Room) Holds(need Room) error {
	var missing []string
	if lack := need.Ports - r.Ports; lack > 0 {
		missing = append(missing, fmt.Sprintf("%d ports", lack))
	}
	if lack := need.Switches - r.Switches; r.Switches > 0 && lack > 0 {
		missing = append(missing, fmt.Sprintf("%d switches", lack))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("room for %s is missing", strings.Join(missing, " and "))
}

// Bytes is a number of bytes as people write it.
func Bytes(n int64) string {
	for _, u := range units {
		if n >= u.bytes {
			return strconv.FormatFloat(math.Round(float64(n)/float64(u.bytes)*10)/10, 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// ParseBytes undoes Bytes: 4GiB, 512 MiB, 4G, or a number of bytes.
func ParseBytes(s string) (int64, error) {
	number, factor := strings.TrimSpace(s), int64(1)
	for _, u := range units {
		if cut, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = cut, u.bytes
		} else if cut, ok := strings.CutSuffix(number, u.name[:1]); ok {
			number, factor = cut, u.bytes
		}
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || x <= 0 || x*float64(factor) > 1<<50 {
		return 0, fmt.Errorf("%q is no amount of memory: give one as 4GiB or 512MiB", s)
	}
	return int64(x * float64(factor)), nil
}

// memoryLeft is how many bytes this host, or the control group that the process is in, has left.
// root is "/" but in tests.
func memoryLeft(root string) (int64, error) {
	left := int64(math.MaxInt64)
	if data, err := os.ReadFile(filepath.Join(root, "proc/meminfo")); err == nil {
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					left = kb << 10
				}
			}
		}
	}
	limit, err1 := number(filepath.Join(root, "sys/fs/cgroup/memory.max")) // "max" where there is none
	used, err2 := number(filepath.Join(root, "sys/fs/cgroup/memory.current"))
	if err1 == nil && err2 == nil {
		left = min(left, limit-used)
	}
	if left == math.MaxInt64 {
		return 0, errors.New("neither /proc/meminfo nor the control group tells")
	}
	return left, nil
}

func number(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}
