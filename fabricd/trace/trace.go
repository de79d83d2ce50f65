// Package trace reads traffic whose packets are in a file, for whoever takes traffic from people: nic, being pure, opens none.
package trace

import (
	"io"
	"os"

	"github.com/weft-fabric/weft/nic"
)

// Traffic reads text as [nic.ParseTraffic] does and, for "trace:FILE", the file. Errors wrap nic.ErrTraffic; those of the file
// name it, with the line.
func Traffic(text string) (nic.Traffic, error) {
	t, err := nic.ParseTraffic(text)
	if err != nil {
		return t, err
	}
	return t.Open(func(file string) (io.ReadCloser, error) { return os.Open(file) })
}
