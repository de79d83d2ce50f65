package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestANameIsHeldByOneAtATime(t *testing.T) {
	ownDir(t)
	a, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, a.Publish(Entry{Listed: Listed{Name: "a", PID: 7}}))
	_, err = Take("a")
	require.ErrorIs(t, err, ErrRunning)
	require.ErrorContains(t, err, "process 7")
	require.NoError(t, a.Release())
	b, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, b.Release())
}

func TestFindNamesWhatThereIs(t *testing.T) {
	ownDir(t)
	_, err := Find("")
	require.ErrorIs(t, err, ErrNone)
	for _, name := range []string{"a", "b"} {
		c, err := Take(name)
		require.NoError(t, err)
		require.NoError(t, c.Publish(Entry{Listed: Listed{Name: name}}))
		t.Cleanup(func() { require.NoError(t, c.Release()) })
	}
	_, err = Find("")
	require.ErrorContains(t, err, "a, b")
	e, err := Find("b")
	require.NoError(t, err)
	require.Equal(t, "b", e.Name)
	_, err = Find("c")
	var unknown *UnknownError
	require.ErrorAs(t, err, &unknown)
}

func TestWhatIsListedHoldsNoSecretAndTheEntryAllOfIt(t *testing.T) {
	t.Parallel()
	var e Entry
	rig.Fill(&e, 1)
	object := func(v any) (o map[string]any) {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &o))
		return o
	}
	all, listed := object(e), object(e.Listed)
	for _, name := range []string{"format", "operator", "viewer", "manager", "token"} {
		require.Contains(t, all, name)
		require.NotContains(t, listed, name)
		delete(all, name)
	}
	require.Equal(t, all, listed, "what is no secret is listed: a field that is new is one or the other")
}

// ownDir gives the test a registry of its own, which is not there yet.
func ownDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "run")
	t.Setenv("WEFT_RUN_DIR", dir)
	return dir
}

// left leaves an entry as a fabric does that is killed.
func left(t *testing.T, dir, name string) string {
	t.Helper()
	c, err := Take(name)
	require.NoError(t, err)
	require.NoError(t, c.Publish(Entry{Listed: Listed{PID: 7}}))
	require.NoError(t, c.lock.Unlock())
	return filepath.Join(dir, name+".json")
}

func TestWhatAKilledFabricLeftIsPassedOverAndReplaced(t *testing.T) {
	dir := ownDir(t)
	file := left(t, dir, "dead")
	entries, err := List()
	require.NoError(t, err)
	require.Empty(t, entries)
	require.FileExists(t, file, "who only looks removes nothing")
	c, err := Take("dead")
	require.NoError(t, err)
	require.NoError(t, c.Publish(Entry{Listed: Listed{PID: 8}}))
	e, err := Find("dead")
	require.NoError(t, err)
	require.Equal(t, 8, e.PID)
	require.NoError(t, c.Release())
	require.NoFileExists(t, file)
}

// A folder may hold what is not ours, as when WEFT_RUN_DIR names one with tokens. It stays, whoever
// looks, starts and ends.
func TestFilesThatAreNotOursStay(t *testing.T) {
	dir := ownDir(t)
	entry, err := os.ReadFile(left(t, dir, "other"))
	require.NoError(t, err)
	files := map[string]string{
		"tokens.json": `[{"name":"a","role":"view"}]`, "empty.json": "", "text.json": "not JSON", "list.json": "[]",
		"null.json":  "null",
		"named.json": `{"name":"named"}`, "renamed.json": string(entry), "half.json": string(entry[:len(entry)/2]),
		"x.json.new": "x", "notes": "x",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	attempts := 0
	for range 3 {
		_, err := List()
		require.NoError(t, err)
		require.Empty(t, Names())
		_, err = Find("tokens")
		require.ErrorIs(t, err, ErrNone)
		attempts += 3
	}
	for name := range files {
		name, isEntry := strings.CutSuffix(name, ".json")
		if !isEntry {
			continue
		}
		_, err := Take(name)
		require.ErrorContains(t, err,
			name+".json is no entry of a fabric "+name+": move it, or choose another name with --fabric")
		attempts++
	}
	c, err := Take("ours")
	require.NoError(t, err)
	require.NoError(t, c.Publish(Entry{}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ours.json"), []byte("put there meanwhile"), 0o600))
	require.NoError(t, c.Release())
	files["ours.json"] = "put there meanwhile"
	attempts++
	for name, want := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	require.NoError(t, err)
	require.NotContains(t, made, filepath.Join(dir, "notes.lock"))
	attack.Count(t, "files that are not ours in the registry's folder", attempts)
}

// Without XDG_RUNTIME_DIR the folder is in one where everybody may make it first.
func TestAFolderThatAnotherUserHasMadeFirst(t *testing.T) {
	shared := attack.Shared(t)
	t.Setenv("WEFT_RUN_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", shared)
	attempts := 0
	for _, script := range []string{
		"mkdir -m 777 D", "mkdir -m 755 D", "mkdir -m 777 D; touch D/weft.json.new; chmod 666 D/weft.json.new",
		"mkdir -m 777 D; ln -s SHARED/precious D/weft.json.new", "mkdir -m 777 D; ln -s SHARED/precious D/weft.json",
		"mkdir -m 777 D; ln -s SHARED/precious D/weft.lock", "mkdir SHARED/theirs; ln -s SHARED/theirs D",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(shared, "precious"), []byte("precious"), 0o600))
		script = strings.NewReplacer("SHARED", shared, "D", Dir().Path).Replace(script)
		out, err := attack.AsNobody(script)
		require.NoError(t, err, out)
		_, err = Take("weft")
		require.ErrorIs(t, err, safefile.ErrUnsafe, script)
		require.ErrorContains(t, err, "belongs to user nobody")
		require.ErrorContains(t, err, "the folder comes from TMPDIR: set WEFT_RUN_DIR to have another")
		_, err = List()
		require.ErrorIs(t, err, safefile.ErrUnsafe, "nor is anybody sent to a fabric of theirs: "+script)
		text, err := os.ReadFile(filepath.Join(shared, "precious"))
		require.NoError(t, err)
		require.Equal(t, "precious", string(text))
		attempts += 2
		_, err = attack.AsNobody("rm -rf " + Dir().Path + " " + shared + "/theirs")
		require.NoError(t, err)
	}
	attack.Count(t, "another user makes the registry's folder first", attempts)
}

func TestTheFileIsForItsUserOnly(t *testing.T) {
	dir := ownDir(t)
	c, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, c.Publish(Entry{Listed: Listed{Name: "a"}}))
	info, err := os.Stat(filepath.Join(dir, "a.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, c.Release())
}
