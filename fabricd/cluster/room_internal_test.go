package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsWhatTheHostOrItsControlGroupHasLeft(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	_, err := memoryLeft(root)
	require.Error(t, err)
	write("proc/meminfo", "MemTotal:       16384000 kB\nMemFree:  1 kB\nMemAvailable:   4194304 kB\n")
	left, err := memoryLeft(root)
	require.NoError(t, err)
	require.EqualValues(t, 4<<30, left)
	write("sys/fs/cgroup/memory.max", "max\n")
	write("sys/fs/cgroup/memory.current", "1000\n")
	left, err = memoryLeft(root)
	require.NoError(t, err)
	require.EqualValues(t, 4<<30, left)
	write("sys/fs/cgroup/memory.max", "1001000\n")
	left, err = memoryLeft(root)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000, left)
}

func TestAnOfferIsPortsForItsMemory(t *testing.T) {
	t.Parallel()
	r, err := OfferOf(1<<30, 3, 0)
	require.NoError(t, err)
	require.Equal(t, Room{Ports: (1<<30 - 64<<20) / (32 << 10), Cores: 3, Memory: 1 << 30}, r)
	r, err = OfferOf(0, 0, 5)
	require.NoError(t, err)
	require.Positive(t, r.Ports*r.Cores)
	_, err = OfferOf(32<<20, 0, 0)
	require.EqualError(t, err,
		"32 MiB is too little memory to offer: a process takes 64 MiB, and each port of a switch or NIC 32 KiB")
}

func TestRoomThatIsLeft(t *testing.T) {
	t.Parallel()
	r := Room{Ports: 100, Switches: 5}
	require.NoError(t, r.Holds(Room{Ports: 100, Switches: 5}))
	require.EqualError(t, r.Holds(Room{Ports: 101, Switches: 7}), "room for 1 ports and 2 switches is missing")
	left := r.Minus(Room{Ports: 10, Switches: 5})
	require.Error(t, left.Holds(Room{Ports: 1, Switches: 1}), "no switch is left")
	require.NoError(t, Room{Ports: 100}.Minus(Room{Ports: 50, Switches: 70}).Holds(Room{Ports: 50, Switches: 1000}))
}

func TestBytesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"4GiB": 4 << 30, "512 MiB": 512 << 20, "2G": 2 << 30, "1.5 GiB": 3 << 29,
		"1000": 1000,
	} {
		n, err := ParseBytes(text)
		require.NoError(t, err)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "4 apples", "-1GiB", "1e30", "GiB"} {
		_, err := ParseBytes(text)
		require.ErrorContains(t, err, "give one as 4GiB", text)
	}
	require.Equal(t, "4 GiB", Bytes(4<<30))
	require.Equal(t, "1.5 MiB", Bytes(3<<19))
	require.Equal(t, "12 bytes", Bytes(12))
}
