package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	upcmd "github.com/weft-fabric/weft/fabricd/cli/up"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// fetch is the body of an answer.
func fetch(t *testing.T, method, url, token string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(data)
}

func TestUpPrintsOneURLAndServesThePageThere(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--listen", "127.0.0.1:0", "--traffic", "uniform:0.1", "--drain-timeout", "1h")
	page, token, ok := strings.Cut(u.entry.PageWithToken(), "#token=")
	require.True(t, ok)
	code, body := fetch(t, "GET", page, "")
	require.Equal(t, 200, code)
	require.True(t, strings.HasPrefix(body, "<!doctype html>"), body)
	code, body = fetch(t, "GET", page+"api/v1/fabrics", "")
	require.Equal(t, 200, code)
	require.Equal(t, `[{"name":"weft","topology":"kary-ntree:2,2","routing":"adaptive-link","firmware":"adaptive-link",`+
		`"started":"?","page":"PAGE","this":true}]`+"\n", shape(strings.ReplaceAll(body, page, "PAGE")))
	code, _ = fetch(t, "POST", page+"api/v1/links/s0.0-s1.0/cut", token)
	require.Equal(t, 200, code)
	code, _ = fetch(t, "POST", page+"api/v1/heal", "")
	require.Equal(t, 401, code)

	// A viewer who is there to the end does not hold it up: nothing waits until the drain gives up.
	r, err := http.Get(page + "api/v1/stream")
	require.NoError(t, err)
	defer r.Body.Close()
	out := u.end(t)
	_, err = io.Copy(io.Discard, r.Body)
	require.True(t, err == nil || strings.Contains(err.Error(), "EOF"), err)
	http.DefaultClient.CloseIdleConnections()
	require.Equal(t, 1, strings.Count(out, "http://"), out)
	require.Regexp(t, `(?m)^watch it and cut it: +`+regexp.QuoteMeta(u.entry.PageWithToken())+`$`, out)
}

func TestAnAddressThatIsTakenIsAnErrorOnlyWhenItWasGiven(t *testing.T) {
	ownRegistry(t)
	taken, err := net.Listen("tcp", lead.DefaultListen)
	if err == nil { // else somebody else has it, which will do as well
		defer taken.Close()
	}
	u := launch(t)
	require.NotEqual(t, "http://"+lead.DefaultListen+"/", u.entry.Page)
	require.NotEmpty(t, u.entry.Page)
	address := strings.TrimSuffix(strings.TrimPrefix(u.entry.Page, "http://"), "/")
	refused(t, fmt.Sprintf("listen on %q for browsers and scripts: another process has this port: "+
		"give another with --listen, as 127.0.0.1:0 for a free port, or off", address),
		"up", "-t", "kary-ntree:2,2", "--fabric", "second", "--listen", address)
	u.end(t)
	require.Empty(t, registry.Names())
}

func TestWithoutAPageThereIsNone(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--listen", "off", "--json")
	require.Empty(t, u.entry.PageWithToken())
	out := u.end(t)
	var first upcmd.Line
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first))
	require.Empty(t, first.Up.Page)
}

func TestListeningBeyondThisMachineIsSaid(t *testing.T) {
	ownRegistry(t)
	u := launch(t, "--listen", "0.0.0.0:0")
	require.True(t, strings.HasPrefix(u.entry.Page, "http://127.0.0.1:"), "an address that can be opened here: %s",
		u.entry.Page)
	u.end(t)
	require.Equal(t, "fabricd: the page can be reached from other machines: to look, too, needs a token, "+
		"but what is sent, the token too, is not encrypted: give --page-cert and --page-key\n", u.errs.String())
}
