package host

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// A patch that names another firmware is that firmware, once; an older one changes nothing.
func TestAPatchOfAnotherFirmware(t *testing.T) {
	t.Parallel()
	place := &weft.Place{Switch: 1, Name: "s1"}
	build := func(routing string) (switching.Firmware, error) {
		fw := firmware.None()
		if fw.Name = routing; routing == "no such" {
			return fw, errors.New("unknown")
		}
		return fw, nil
	}
	p := NewProgram(firmware.None())
	require.Nil(t, p.Now().Whole(1, 0), "it is as the fabric began")
	load := func(routing string, to uint64) (*Loaded, error) {
		l, err := p.Patched(place, 1, &tables.Patch{Switch: 1, To: to, Routing: routing}, build)
		if err == nil {
			p.Set(l)
		}
		return l, err
	}
	l, err := load("a", 2)
	require.NoError(t, err)
	require.Equal(t, "a", l.Firmware.Name)
	require.Equal(t, &tables.Patch{Switch: 1, To: 2, Routing: "a"}, l.Whole(1, 0))
	same, err := load("a", 2)
	require.NoError(t, err)
	require.Same(t, l, same)

	_, err = load("b", 1)
	require.ErrorIs(t, err, tables.ErrVersion)
	_, err = load("b", 2)
	require.ErrorIs(t, err, tables.ErrVersion)
	_, err = load("no such", 3)
	require.ErrorContains(t, err, "firmware for switch s1: unknown")
	require.Same(t, l, p.Now())
	next, err := load("b", 3)
	require.NoError(t, err)
	require.Equal(t, "b", next.Routing)
}
