package main

import (
	"log/slog"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// links is an embedded broker with the transport of a fabric on it.
type links struct {
	broker    *bus.Broker
	transport *bus.NATS
	peers     *bus.Peers // switches that are processes of their own
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
	p, err := bus.NewPeers(bus.PeersConfig{Fabric: name, Broker: b, OnError: func(err error) { log.Warn("switch processes", "err", err) }})
	if err != nil {
		_ = t.Close()
		b.Shutdown()
		return nil, err
	}
	return &links{broker: b, transport: t, peers: p}, nil
}

func (l *links) close() {
	_ = l.peers.Close()
	_ = l.transport.Close()
	l.broker.Shutdown()
}
