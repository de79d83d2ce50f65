package bus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// userHome is a home folder with contexts "lab" and "plain", of which "lab" is selected, and a few
// files.
func userHome(t *testing.T) (file func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	file = func(name string) string { return filepath.Join(dir, name) }
	contexts := filepath.Join(dir, "nats", "context")
	require.NoError(t, os.MkdirAll(contexts, 0o700))
	for name, text := range map[string]string{
		"a.creds": "x", "b.creds": "x", "c.nk": "x", "cert.pem": "x", "key.pem": "x", "ca.pem": "x",
		"nats/context.txt":         "lab",
		"nats/context/plain.json":  `{}`,
		"nats/context/broken.json": `{`,
		"nats/context/socks.json":  `{"url":"nats://lab:4222","socks_proxy":"proxy:1"}`,
		"nats/context/jwt.json":    `{"url":"nats://lab:4222","user_jwt":"eyJ"}`,
		"nats/context/two.json":    fmt.Sprintf(`{"url":"nats://lab:4222","user":"u","creds":%q}`, file("a.creds")),
		"nats/context/named.json":  `{"url":"nats://lab:4222","user":"ann","password":"secret"}`,
		"nats/context/lab.json": fmt.Sprintf(
			`{"url":"nats://lab:4222","creds":%q,"cert":%q,"key":%q,"ca":%q,"inbox_prefix":"_LAB","tls_first":true}`,
			file("a.creds"), file("cert.pem"), file("key.pem"), file("ca.pem")),
	} {
		require.NoError(t, os.WriteFile(file(name), []byte(text), 0o600))
	}
	return file
}

// resolve takes flags as a command line does.
func resolve(t *testing.T, env map[string]string, args ...string) (bus.Resolved, error) {
	t.Helper()
	var s bus.Settings
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.Flags(fs)
	require.NoError(t, fs.Parse(args))
	return s.Resolve(func(name string) string {
		require.NotEqual(t, "NATS_SEED", name)
		return env[name]
	})
}

func TestSettingsPrecedence(t *testing.T) {
	file := userHome(t)
	type env = map[string]string
	lab := bus.Credentials{
		CredsFile: file("a.creds"), TLSCert: file("cert.pem"), TLSKey: file("key.pem"), TLSCA: file("ca.pem"),
		InboxPrefix: "_LAB", TLSFirst: true,
	}
	with := func(c bus.Credentials, change func(*bus.Credentials)) bus.Credentials {
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		env  env
		args []string
		want bus.Resolved
	}{
		"nothing is the embedded broker, whatever context is selected": {},
		"a context": {
			nil,
			[]string{"--context", "lab"},
			bus.Resolved{URL: "nats://lab:4222", Credentials: lab},
		},
		"a context of environment": {env{"NATS_CONTEXT": "lab"}, nil, bus.Resolved{URL: "nats://lab:4222", Credentials: lab}},
		"context flag over environment": {
			env{"NATS_CONTEXT": "nonsense"},
			[]string{"--context", "plain"},
			bus.Resolved{URL: "nats://127.0.0.1:4222"},
		},
		"flag over environment over context": {
			env{"NATS_URL": "nats://env:1", "NATS_CREDS": file("b.creds"), "NATS_TIMEOUT": "7s"},
			[]string{"--context", "lab", "-s", "flag:2", "--timeout", "3s", "--inbox-prefix", "_MINE"},
			bus.Resolved{
				URL: "nats://flag:2", Notes: []string{`NATS_CREDS in the environment overrides "creds" of context lab`},
				Credentials: with(lab, func(c *bus.Credentials) {
					c.CredsFile, c.Timeout, c.InboxPrefix = file("b.creds"), 3*time.Second, "_MINE"
				}),
			},
		},
		"environment": {
			env{
				"NATS_URL": "tls://a:1, b:2", "NATS_NKEY": "~/c.nk", "NATS_CERT": file("cert.pem"), "NATS_KEY": file("key.pem"),
				"NATS_CA": file("ca.pem"), "NATS_TIMEOUT": "1m", "NATS_SEED": "no",
			},
			nil,
			bus.Resolved{URL: "tls://a:1,nats://b:2", Credentials: bus.Credentials{
				NKeyFile: file("c.nk"), TLSCert: file("cert.pem"), TLSKey: file("key.pem"), TLSCA: file("ca.pem"),
				Timeout: time.Minute,
			}},
		},
		"user and password from two sources": {
			env{"NATS_PASSWORD": "other"},
			[]string{"--context", "named"},
			bus.Resolved{
				URL: "nats://lab:4222", Credentials: bus.Credentials{User: "ann", Password: "other"},
				Notes: []string{`NATS_PASSWORD in the environment overrides "password" of context named`},
			},
		},
		"password flag for the user of a context": {
			nil,
			[]string{"--context", "named", "--password", "other"},
			bus.Resolved{URL: "nats://lab:4222", Credentials: bus.Credentials{User: "ann", Password: "other"}},
		},
		"a user without password is a token": {
			nil,
			[]string{"-s", "h", "--user", "s3cr3t"},
			bus.Resolved{URL: "nats://h", Credentials: bus.Credentials{Token: "s3cr3t"}},
		},
		"token": {
			env{"NATS_TOKEN": "t"},
			[]string{"-s", "h"},
			bus.Resolved{URL: "nats://h", Credentials: bus.Credentials{Token: "t"}},
		},
		"one way to say who, from the highest source": {
			env{"NATS_USER": "u", "NATS_PASSWORD": "p"},
			[]string{"--context", "lab", "--token", "t"},
			bus.Resolved{
				URL:         "nats://lab:4222",
				Credentials: with(lab, func(c *bus.Credentials) { c.CredsFile, c.Token = "", "t" }),
				Notes:       []string{`--token overrides "creds" of context lab`, "--token overrides NATS_USER"},
			},
		},
		"a password of nobody": {
			env{"NATS_PASSWORD": "p"},
			[]string{"-s", "h"},
			bus.Resolved{URL: "nats://h", Notes: []string{"NATS_PASSWORD is not used: there is no user it could be of"}},
		},
		"environment for other programs": {
			env{"NATS_CREDS": file("none")},
			nil,
			bus.Resolved{Notes: []string{"NATS_CREDS is not used: no server is named, so Weft uses its own broker"}},
		},
	} {
		got, err := resolve(t, c.env, c.args...)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestSettingsErrorsSayWhatToDo(t *testing.T) {
	file := userHome(t)
	type env = map[string]string
	for _, c := range []struct {
		env  env
		args []string
		want []string
	}{
		{nil, []string{"--context", "plian"}, []string{"--context", `did you mean "plain"?`, "nats context ls"}},
		{env{"NATS_CONTEXT": "../lab"}, nil, []string{"NATS_CONTEXT", "unknown NATS context"}},
		{nil, []string{"--context", "broken"}, []string{"broken.json", "nats context edit"}},
		{nil, []string{"--context", "socks"}, []string{"socks.json", `"socks_proxy"`, "does not support"}},
		{nil, []string{"--context", "jwt"}, []string{`"user_jwt"`}},
		{nil, []string{"--context", "two"}, []string{`both "creds" of context two and "user" of context two`, "keep one"}},
		{nil, []string{"-s", "h", "--creds", file("none")}, []string{"--creds", file("none"), "no such file"}},
		{env{"NATS_URL": "h", "NATS_NKEY": file("nats")}, nil, []string{"NATS_NKEY", "is a folder"}},
		{nil, []string{"-s", "h", "--tlscert", file("cert.pem")}, []string{"--tlscert without --tlskey"}},
		{nil, []string{"-s", "h", "--tlskey", file("key.pem")}, []string{"--tlskey without --tlscert"}},
		{nil, []string{"-s", "nats://u:secret@"}, []string{"--server", "no address"}},
		{env{"NATS_URL": "http://u:secret@h:1"}, nil, []string{"NATS_URL", `unknown scheme "http"`}},
		{nil, []string{"-s", "h", "--timeout", "0s"}, []string{"--timeout", "more than 0s"}},
		{env{"NATS_TIMEOUT": "5"}, []string{"-s", "h"}, []string{"NATS_TIMEOUT", "such as 5s"}},
		{nil, []string{"-s", "h", "--password", "secret"}, []string{"--password without a user"}},
		{nil, []string{"--creds", file("a.creds")}, []string{"--creds without a server", "--context"}},
		{nil, []string{"-s", "h", "--creds", file("a.creds"), "--nkey", file("c.nk")}, []string{"both --creds and --nkey"}},
		{nil, []string{"-s", "h", "--inbox-prefix", "a.*"}, []string{"--inbox-prefix", "prefix of subjects"}},
	} {
		_, err := resolve(t, c.env, c.args...)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, "%v %v", c.env, c.args)
		}
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestSettingsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	s := bus.Settings{Server: "nats://u:hidden@h", Password: "hidden", Token: "hidden"}
	require.NotContains(t, fmt.Sprintf("%v %+v", s, s), "hidden")
	c := bus.Credentials{Token: "hidden"}
	require.NotContains(t, fmt.Sprintf("%v %+v", c, c), "hidden")
}
