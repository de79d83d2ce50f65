// Package inputs notes which files a process has read as its input: topologies, modules,
// experiments, scenarios, traces, sets. A computation that is given to other machines takes them
// along.
package inputs

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// most bounds the files that are noted; an order that reads more is refused. Chosen by us.
const most = 10_000

var (
	mu   sync.Mutex
	used = map[string]bool{} // guarded by mu: absolute paths; bound: most
)

// Note notes a file that is about to be read. One that is noted and not there is no input.
func Note(path string) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return // reading it says why
	}
	mu.Lock()
	defer mu.Unlock()
	if len(used) < most {
		used[abs] = true
	}
}

// Open is os.Open that notes the file.
func Open(path string) (*os.File, error) {
	Note(path)
	return os.Open(path)
}

// ReadFile is os.ReadFile that notes the file.
func ReadFile(path string) ([]byte, error) {
	Note(path)
	return os.ReadFile(path)
}

// Used are the files that have been read, by absolute path and sorted.
func Used() (list []string) {
	mu.Lock()
	defer mu.Unlock()
	for path := range used {
		if f, err := os.Stat(path); err == nil && f.Mode().IsRegular() {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}
