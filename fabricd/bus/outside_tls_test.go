package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// selfSigned makes a certificate for 127.0.0.1, its own authority, and returns the paths of it and
// of its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lab"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	certDER, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", certDER), write("key.pem", "PRIVATE KEY", keyDER)
}

// Certificates of both sides are asked for and checked; a broker may want the handshake before
// anything else.
func TestOutsideOverTLS(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		cert, key := selfSigned(t)
		first, more := false, ""
		// Debian's is too old for it; after 1 s the server speaks first, which lets the test's own look
		// at it pass
		if release == natstest.Newest {
			first, more = true, `, handshake_first: "1s"`
		}
		broker := natstest.Start(t, release,
			fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true%s }", cert, key, cert, more))
		s := bus.Settings{Server: broker.URL, TLSCA: cert, TLSCert: cert, TLSKey: key, TLSFirst: first}
		r, err := s.Resolve(func(string) string { return "" })
		require.NoError(t, err)
		n, events := watch(t, bus.NATSConfig{URL: r.URL, Credentials: r.Credentials, Shards: 1})
		inbox := listen(t, n, hop(0), 1)
		require.NoError(t, sender(t, n, hop(0)).Send([]byte("x")))
		require.Equal(t, "x", next(t, inbox))
		broker.Kill()
		events.await(t, wire.EventDisconnected)
		broker.Start()
		events.await(t, wire.EventReconnected)
		require.NoError(t, sender(t, n, hop(0)).Send([]byte("y")))
		require.Equal(t, "y", next(t, inbox))

		for _, c := range []bus.Credentials{{}, {TLSCA: cert}} {
			_, err := bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: broker.URL, Credentials: c})
			require.ErrorContains(t, err, "do not agree on TLS")
		}
	})
}
