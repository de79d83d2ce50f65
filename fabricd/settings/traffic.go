package settings

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/inputs"
	"github.com/weft-fabric/weft/nic"
)

// ParseTraffic reads traffic for whoever takes it from people: it opens the file of a trace and
// says which word was meant. The core (nic) does neither. It reads text as [nic.ParseTraffic] does
// and, for "trace:FILE", the file. Errors wrap nic.ErrTraffic; those of the file name it, with the
// line, and that of an unknown word names the nearest known one.
func ParseTraffic(text string) (nic.Traffic, error) {
	t, err := nic.ParseTraffic(text)
	if u := (*nic.UnknownError)(nil); errors.As(err, &u) {
		return t, fmt.Errorf("%w %q: %w", nic.ErrTraffic, nearest.Clip(text), nearest.Unknown(u.Kind, u.Word, u.Known))
	}
	if err != nil {
		return t, err
	}
	return t.Open(func(file string) (io.ReadCloser, error) { return inputs.Open(file) })
}
