package auth_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Servers started in the folders of their hosts form a cluster, let in whom the folder has
// credentials for, and keep things.
func TestServersTrustWhatInitMakes(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := newLab(t, natstest.Newest,
		auth.Host{Name: "a", Address: "127.0.0.1"}, auth.Host{Name: "b", Address: "127.0.0.2"},
		auth.Host{Name: "c", Address: "127.0.0.3"})
	control,
		err := bus.NewServer(bus.ServerConfig{Fabric: "lab", URL: l.url, Credentials: l.credentials("leader/leader.creds")})
	require.NoError(t, err)
	defer control.Close()
	var store *bus.Store
	rig.Until(t, func() bool { // once the three have found each other
		store, err = bus.OpenStore(t.Context(),
			bus.StoreConfig{Fabric: "lab", URL: l.url, Credentials: l.credentials("leader/leader.creds")})
		return err == nil
	}, "%v\n%s", err, l.servers[0].Output())
	require.NoError(t, store.Put(t.Context(), "x", []byte("kept")))
	store.Close()
}

func TestFilesAreTheirUsersOwn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lab")
	d, _, err := auth.Init(auth.Options{Fabric: "lab", Dir: dir})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		if !e.IsDir() {
			files++
		}
		return nil
	}))
	require.Greater(t, files, 15)
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lab")
	d, _, err := auth.Init(auth.Options{Fabric: "lab", Dir: dir})
	require.NoError(t, err)
	_, err = auth.Open(dir)
	require.ErrorContains(t, err, "another fabricd auth is at work")
	require.NoError(t, d.Close())
	before, err := os.ReadFile(filepath.Join(dir, "leader", "leader.creds"))
	require.NoError(t, err)
	for want, o := range map[string]auth.Options{
		"holds the keys of a fabric already": {Fabric: "lab", Dir: dir},
		`fabric name "L"`:                    {Fabric: "L", Dir: filepath.Join(t.TempDir(), "new")},
		"host a is given twice": {
			Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"),
			Hosts: []auth.Host{{Name: "a", Address: "a"}, {Name: "a", Address: "b"}},
		},
		"give both": {Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"), CACert: "ca.pem"},
		"no such file": {
			Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"), CACert: "nowhere.pem",
			CAKey: "nowhere.pem",
		},
		"is not the key of the certificate": {
			Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"),
			CACert: filepath.Join(dir, "ca.pem"), CAKey: filepath.Join(dir, "leader", "key.pem"),
		},
		"no certificate of an authority": {
			Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"),
			CACert: filepath.Join(dir, "leader", "cert.pem"), CAKey: filepath.Join(dir, "leader", "key.pem"),
		},
		"has expired at": {
			Fabric: "lab", Dir: filepath.Join(t.TempDir(), "new"), CACert: filepath.Join(dir,
				"ca.pem"), CAKey: filepath.Join(dir, "keys", "ca.key.pem"), Now: time.Now().AddDate(11, 0, 0),
		},
	} {
		_, _, err := auth.Init(o)
		require.ErrorContains(t, err, want)
	}
	after, err := os.ReadFile(filepath.Join(dir, "leader", "leader.creds"))
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = auth.Open(t.TempDir())
	require.ErrorContains(t, err, "make them with fabricd auth init")
	_, err = auth.Open(filepath.Join(dir, "nowhere"))
	require.ErrorContains(t, err, "is not there")
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]auth.Host{
		"a": {Name: "a", Address: "a"}, " a.lab.example ": {Name: "a.lab.example", Address: "a.lab.example"},
		"a=10.0.0.1": {Name: "a", Address: "10.0.0.1"},
		"a=fd00::1":  {Name: "a", Address: "fd00::1"},
	} {
		h, err := auth.ParseHost(text)
		require.NoError(t, err)
		require.Equal(t, want, h)
	}
	for _, text := range []string{"", "a=", "=a", "a b", "../a", "-a", "a/b", "a=b=c", "a;b", "a_b", `a"`} {
		_, err := auth.ParseHost(text)
		require.ErrorIs(t, err, auth.ErrHost, text)
	}
}

// An authority of one's own signs the certificates, and its key is not copied.
func TestOwnAuthority(t *testing.T) {
	t.Parallel()
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	d, _, err := auth.Init(auth.Options{Fabric: "lab", Dir: first})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	d, _,
		err = auth.Init(auth.Options{
		Fabric: "lab", Dir: second, CACert: filepath.Join(first, "ca.pem"),
		CAKey: filepath.Join(first, "keys", "ca.key.pem"),
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	ours, err := os.ReadFile(filepath.Join(first, "ca.pem"))
	require.NoError(t, err)
	copied, err := os.ReadFile(filepath.Join(second, "hosts", "localhost", "ca.pem"))
	require.NoError(t, err)
	require.Equal(t, ours, copied)
	require.NoFileExists(t, filepath.Join(second, "keys", "ca.key.pem"))
}
