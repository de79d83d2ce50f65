// Package live is what tests need of NATS: the option that carries the links of a [harness.Harness]
// over it, and a fabric over a broker, as fabricd up has one, for tests of what joins it from
// outside. It is no _test file because the tests of several packages use it; nothing but tests
// imports it. Package harness itself does not depend on NATS.
package live

import (
	"testing"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/switch/wire"
)

// OverNATS carries the links over an embedded NATS server instead of memory.
func OverNATS() harness.Option { return harness.Transport(overNATS) }

// overNATS starts a broker. Those of parallel tests do not meet: they take no connections from outside.
func overNATS(t testing.TB) wire.Transport {
	t.Helper()
	const name = "harness"
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: name, NoListen: true})
	if err != nil {
		t.Fatalf("harness: %v", err)
	}
	t.Cleanup(b.Shutdown)
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: name, Broker: b})
	if err != nil {
		t.Fatalf("harness: %v", err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Errorf("harness: close links: %v", err)
		}
	})
	return tr
}
