// Package bustest opens what tests need of a broker: each ends with the test. It is no _test file
// because the tests of many packages use it; nothing but tests imports it.
package bustest

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Name is that of a fabric whose test gives none. Those of several tests do not meet: each has a
// broker of its own.
const Name = "lab"

// Broker starts an embedded broker.
func Broker(t testing.TB, c bus.BrokerConfig) *bus.Broker {
	t.Helper()
	c.Fabric = cmp.Or(c.Fabric, Name)
	b, err := bus.StartBroker(c)
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	return b
}

// Links opens the transport of a fabric.
func Links(t testing.TB, c bus.NATSConfig) *bus.NATS {
	t.Helper()
	c.Fabric = cmp.Or(c.Fabric, Name)
	n, err := bus.NewNATS(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// Server answers requests for a fabric.
func Server(t testing.TB, c bus.ServerConfig) *bus.Server {
	t.Helper()
	c.Fabric = cmp.Or(c.Fabric, Name)
	s, err := bus.NewServer(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Client connects to a fabric. One that names no fabric is no part of any.
func Client(t testing.TB, c bus.ClientConfig) *bus.Client {
	t.Helper()
	client, err := bus.Dial(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// Store opens what a broker keeps of a fabric.
func Store(t testing.TB, c bus.StoreConfig) *bus.Store {
	t.Helper()
	c.Fabric = cmp.Or(c.Fabric, Name)
	s, err := bus.OpenStore(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
