package cli_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// secret is what nobody but its user may see: seeds of nkeys, tokens of NATS with their signature,
// private keys.
var secret = regexp.MustCompile(`S[OAU][A-Z2-7]{56}|eyJ0eXAi[\w-]+\.[\w-]+\.[\w-]+|PRIVATE KEY`)

// secretsIn are all secrets in the files of a folder.
func secretsIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, "jetstream") || strings.Contains(path, "accounts") {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, secret.FindAllString(string(text), -1)...)
		return err
	}))
	return all
}

// The keys of a running fabric are rotated: its links come back, its ledger balances, and no secret
// is told to anybody.
func TestAFabricWhoseKeysAreRotatedGoesOnAndTellsNoSecret(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	dir, port := filepath.Join(t.TempDir(), "keys"), rig.FreePort(t)
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	made, errs, code := fabricd(t, "auth", "init", "--fabric", "lab", "--dir", dir, "--hosts", "a=127.0.0.1", "--port",
		fmt.Sprint(port))
	require.Zero(t, code, errs)
	require.Regexp(t, `view +[A-Z2-7]{26}\n +operate +[A-Z2-7]{26}`, made)
	natstest.StartIn(t, natstest.Newest, file("hosts/a"), "127.0.0.1", port)
	server := fmt.Sprintf("tls://127.0.0.1:%d", port)
	u := launch(t, "--fabric", "lab", "--server", server, "--auth", file("leader"), "--traffic", "uniform:0.1", "--listen",
		"127.0.0.1:0", "--json", "-v")
	before := secretsIn(t, dir)
	require.Greater(t, len(before), 15)

	rotated, errs, code := fabricd(t, "auth", "rotate", "--dir", dir, "--json", "--wait", "500ms")
	require.Zero(t, code, errs)
	var out auth.Rotated
	require.NoError(t, json.Unmarshal([]byte(rotated), &out))
	require.Equal(t, []string{"a"}, out.Servers)
	require.Equal(t, "fabric", out.Renewed[0].User)
	require.Equal(t, []string{"hosts/a"}, out.Copy, "no agent runs there")

	// Its links are back when packets arrive everywhere again, and it takes orders from who has the
	// new credentials.
	c := u.operator(t)
	rig.Until(t, func() bool {
		s, err := c.Status(t.Context())
		if err != nil || s.Sample.LinksDown != 0 {
			return false
		}
		_, err = c.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.0", B: "s1.0"})
		return err == nil
	})
	_, err := c.Apply(t.Context(), fault.Spec{Do: fault.VerbHeal})
	require.NoError(t, err)

	after := secretsIn(t, dir)
	var told strings.Builder
	for _, path := range []string{
		"status", "topology", "links", "switches", "faults", "ledger", "events", "fabrics",
		"openapi.json",
	} {
		code, body := fetch(t, "GET", u.entry.Page+"api/v1/"+path, "")
		require.Equal(t, 200, code)
		told.WriteString(body)
	}
	told.WriteString(u.end(t) + u.errs.String() + rotated + made)
	require.Empty(t, secret.FindAllString(told.String(), -1))
	for _, s := range append(before, after...) {
		require.NotContains(t, told.String(), s)
	}
	require.Contains(t, told.String(), "broker_lost", "its connections were opened again")

	// Who has the old ones is let in no more.
	_, errs, code = fabricd(t, "auth", "revoke", "--dir", dir, "viewer")
	require.Zero(t, code, errs)
	_, errs, code = fabricd(t, "manage", "--fabric", "lab", "--server", server, "--auth", file("users/viewer"))
	require.Equal(t, command.ExitUnusable, code)
	require.Regexp(t, `^fabricd: bus: control of user viewer: the broker at `+server+` refuses the user of `+
		file("users/viewer/viewer.creds")+
		` with the key U\w{55}: it does not know who signed them, or they are revoked or expired: `+
		`take the newest that fabricd auth has made: nats: Authorization Violation\n$`, errs)
}
