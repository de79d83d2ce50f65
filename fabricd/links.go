package main

import (
	"log/slog"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// links is an embedded broker with the transport of a fabric on it.
type links struct {
	broker    *bus.Broker
	transport *bus.NATS
}

// openLinks starts a broker for a fabric and connects to it.
func openLinks(name, listen string, log *slog.Logger) (*links, error) {
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: name, Listen: listen, NoListen: listen == "", Log: log})
	if err != nil {
		return nil, err
	}
	t, err := bus.NewNATS(bus.NATSConfig{Fabric: name, Broker: b})
	if err != nil {
		b.Shutdown()
		return nil, err
	}
	return &links{broker: b, transport: t}, nil
}

func (l *links) close() {
	_ = l.transport.Close()
	l.broker.Shutdown()
}
