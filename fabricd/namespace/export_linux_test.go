package namespace

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// PlainPair is two namespaces, n0 and n1, whose packets this process copies from one to the other.
func PlainPair(b *testing.B, mtu int) (start func(nic string, c Command) (int, error)) {
	names := []string{"n0", "n1"}
	holders, tuns := map[string]*conn{}, make([]*os.File, len(names))
	for i, name := range names {
		var hosts bytes.Buffer
		require.NoError(b, ip.WriteHosts(&hosts, names))
		file, err := inMemory(hosts.Bytes())
		require.NoError(b, err)
		p := &place{id: weft.NICID(i), name: name, mtu: mtu}
		ours, theirs := connections(b)
		go func() {
			var r reply
			files, err := theirs.receive(&r)
			if err == nil {
				_ = makeHolder(*r.Make, files[0], files[1])
				closeAll(files)
			}
		}()
		holders[name], tuns[i], err = p.ask(&Server{cfg: Config{Names: names}}, ours)
		require.NoError(b, errors.Join(err, file.Close()))
		b.Cleanup(func() { _ = holders[name].Close(); _ = tuns[i].Close() })
	}
	for i := range tuns {
		go func() {
			buffer := make([]byte, 1<<16)
			for {
				n, err := tuns[i].Read(buffer)
				if err != nil {
					return
				}
				_, _ = tuns[1-i].Write(buffer[:n])
			}
		}()
	}
	return func(nic string, c Command) (int, error) {
		end, theirs, err := pair()
		require.NoError(b, err)
		require.NoError(b, holders[nic].send(run{}, theirs))
		require.NoError(b, theirs.Close())
		to, err := connOf(end)
		require.NoError(b, err)
		text, err := json.Marshal(c)
		require.NoError(b, err)
		command, err := inMemory(text)
		require.NoError(b, err)
		defer func() { _ = command.Close() }()
		return runBy(to, c, command, nil, func() error { return errors.New("the holder has ended") })
	}
}

func connections(b *testing.B) (x, y *conn) {
	f, g, err := pair()
	require.NoError(b, err)
	x, err = connOf(f)
	require.NoError(b, err)
	y, err = connOf(g)
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = x.Close(), y.Close() })
	return x, y
}
