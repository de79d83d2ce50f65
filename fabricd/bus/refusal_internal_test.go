package bus

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestRefusalsEndAConnection(t *testing.T) {
	t.Parallel()
	signer, err := NewKey(AccountKey)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "x.creds")
	write := func() (public string) {
		user, err := NewKey(UserKey)
		require.NoError(t, err)
		token, err := UserToken(signer, signer.Public, "lab", user.Public, RoleViewer, "")
		require.NoError(t, err)
		text, err := CredsFile(token, user)
		require.NoError(t, err)
		require.NoError(t, safefile.WriteSecret(file, text))
		return user.Public
	}
	first := write()
	now := time.Now()
	made := func() *refusals { return &refusals{creds: Credentials{CredsFile: file}, where: "the broker at x"} }

	r := made()
	require.False(t, r.heard(errors.New("connection reset by peer"), now))
	require.False(t, r.heard(nats.ErrPermissionViolation, now), "it was about one subject")
	require.NoError(t, r.gone())
	require.ErrorIs(t, r.closedErr(nats.ErrConnectionClosed), wire.ErrClosed)
	require.True(t, r.heard(nats.ErrAuthRevoked, now), "at once")
	require.ErrorIs(t, r.gone(), reply.ErrNoAccess)
	require.ErrorContains(t, r.gone(), "the broker at x has revoked the key "+first+" of the user of "+file+": ")
	require.ErrorContains(t, r.gone(), "fabricd auth rotate")
	require.ErrorIs(t, r.closedErr(nats.ErrConnectionClosed), reply.ErrNoAccess)
	require.True(t, r.heard(nil, now), "for good")

	// One that may not have heard of our newest key is tried for a while, and that is over when it
	// lets us in.
	r = made()
	for _, after := range []time.Duration{0, time.Second, refusedTime - time.Second} {
		require.False(t, r.heard(nats.ErrAuthorization, now.Add(after)))
	}
	r.taken()
	now = now.Add(refusedTime)
	require.False(t, r.heard(nats.ErrAuthorization, now))
	require.False(t, r.heard(errors.New("nats: Authorization Violation"), now.Add(refusedTime-1)))
	require.True(t, r.heard(errors.New("nats: Authorization Violation"), now.Add(refusedTime)))
	require.ErrorContains(t, r.gone(),
		"the broker at x has refused the user of "+file+" with the key "+first+" for 2m0s: ")

	// A key that was replaced in time is not the one that was revoked.
	r = made()
	r.revoked = first
	second := write()
	require.NotEqual(t, first, second)
	require.False(t, r.heard(nats.ErrAuthorization, now))
	require.True(t, r.heard(nats.ErrAuthRevoked, now))
	require.ErrorContains(t, r.gone(), second)
}
