// Package live is what tests need of NATS: the option that carries the links of a [harness.Harness]
// over it, and a fabric over a broker, as fabricd up has one, for tests of what joins it from
// outside. It is no _test file because the tests of several packages use it; nothing but tests
// imports it. Package harness itself does not depend on NATS.
package live

import (
	"testing"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/switch/wire"
)

// OverNATS carries the links over an embedded NATS server instead of memory.
func OverNATS() harness.Option { return harness.Transport(overNATS) }

// overNATS starts a broker. Those of parallel tests do not meet: they take no connections from
// outside.
func overNATS(t testing.TB) wire.Transport {
	t.Helper()
	return bustest.Links(t, bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
}
