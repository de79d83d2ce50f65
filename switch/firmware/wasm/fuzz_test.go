package wasm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Whatever a guest writes where its answer is, the host takes it as a decision that a switch can
// carry out, or refuses it, and never panics.
func FuzzAnswer(f *testing.F) {
	m := guest{rules: []string{"a", "b"}, register: 4, route: to(1, 0)}.load(f)
	i, _, err := m.start()
	require.NoError(f, err)
	s, err := i.placed(somewhere().At)
	require.NoError(f, err)
	f.Add([]byte{1, 0, 1, 0, 2, 1, 1})
	f.Add([]byte{
		2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 7, 2, 0, 1, 0, 2, 0, 0,
		0, 0, 0, 2, 0,
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		memory := i.memory()
		clear(memory[i.answer:i.end])
		copy(memory[i.answer:i.end], b)
		pkt, sw := weft.Header{Fields: weft.NewFields()}, somewhere()
		var d switching.Decision
		if err := i.decision(memory, &pkt, sw, s.registers, &d); err != nil {
			require.ErrorAs(t, err, new(*Fault))
			return
		}
		require.Contains(t, []string{"a", "b"}, d.Rule)
		require.LessOrEqual(t, d.Turn, switching.UTurn)
		require.LessOrEqual(t, len(d.Candidates), guestRoom)
		for _, c := range d.Candidates {
			require.Less(t, c.Port, weft.PortID(3), "the last port leads nowhere")
			require.Less(t, c.VC, weft.VC(2))
			require.True(t, c.Fields.Sub.Valid())
			route, err := weft.ParseSourceRoute(c.Fields.Route.String())
			require.NoError(t, err)
			require.Equal(t, c.Fields.Route, route)
		}
		if d.Write.Do {
			require.Zero(t, d.Write.Index)
			require.Less(t, d.Write.Value, uint64(16))
		}
	})
}

// Whatever a guest declares, at whatever addresses, it is a firmware within the bounds or refused.
// The memory is all that there is: declaration, texts and registers lie about in it.
func FuzzDeclaration(f *testing.F) {
	m := guest{rules: []string{"a"}, register: 4, route: to(1, 0)}.load(f)
	i, declared, err := m.start()
	require.NoError(f, err)
	f.Add(declared, i.memory()[atTexts:atTexts+256])
	f.Fuzz(func(t *testing.T, declared, texts []byte) {
		if len(declared) < declaredBytes {
			return
		}
		memory := make([]byte, atHeap)
		copy(memory[atTexts:], texts)
		got := &Module{options: "a=1"}
		err := got.declare(&words{b: memory}, declared)
		require.LessOrEqual(t, len(got.rules), MaxRules)
		require.LessOrEqual(t, len(got.firmware.Options), MaxOptions)
		if err != nil {
			return
		}
		require.NotEmpty(t, got.firmware.Name)
		require.LessOrEqual(t, len(got.firmware.Name), maxText)
		require.LessOrEqual(t, got.firmware.VCs, weft.MaxVCs)
		require.True(t, slices.ContainsFunc(got.firmware.Options, func(o switching.Option) bool { return o.Name == "a" }),
			"which it was given")
	})
}
