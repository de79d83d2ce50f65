package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// links is the broker of a fabric, ours or one that exists, with the transport of the fabric on it.
type links struct {
	broker    *bus.Broker  // nil: it is not ours
	server    bus.Resolved // where it is then
	transport *bus.NATS
	peers     *bus.Client // switches that are processes of their own
	*keys
	ownKeys bool // they end with this
}

// brokerConfig says which broker a fabric is to run on: the server named, or an embedded one that
// listens there, nowhere when empty.
type brokerConfig struct {
	name, listen string
	keeps        string // folder in which an embedded broker keeps what a manager writes down; empty: none
	server       bus.Settings
	layout       *bus.Layout // of a fabric of several hosts; nil: all of it is in this process
	keys         *keys       // of this process; nil: opened with the links, and closed
	log          *slog.Logger
}

// open starts or finds the broker and connects to it. What the user should know is printed to
// stderr.
func (b brokerConfig) open(stderr io.Writer) (l *links, err error) {
	l = &links{keys: b.keys}
	if l.server, err = b.server.Resolve(os.Getenv); err != nil {
		return nil, err
	}
	for _, note := range l.server.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	if l.server.URL == "" {
		if l.broker, err = bus.StartBroker(bus.BrokerConfig{Fabric: b.name, Listen: b.listen, NoListen: b.listen == "", StoreDir: b.keeps, Log: b.log}); err != nil {
			return nil, err
		}
	}
	l.transport, err = bus.NewNATS(bus.NATSConfig{Fabric: b.name, Broker: l.broker, URL: l.server.URL, Credentials: l.server.Credentials, Layout: b.layout})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	p, err := bus.Dial(bus.ClientConfig{
		Program: "fabric-" + b.name, Leads: true,
		Fabric: b.name, Broker: l.broker, URL: l.server.URL, Credentials: l.server.Credentials,
		OnError: func(err error) { b.log.Warn("switch processes", "err", err) },
	})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.peers = p
	if l.keys != nil {
		return l, nil
	}
	l.keys, l.ownKeys = &keys{}, true
	if err := l.keys.open(l.server, b.name, b.log); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// url is where others reach the broker.
func (l *links) url() string {
	if l.broker != nil {
		return l.broker.ClientURL()
	}
	return l.server.URL
}

// credentials open a connection in a role. On a broker that is not ours, who may do what is its
// owner's business.
func (l *links) credentials(r bus.Role) bus.Credentials {
	if l.broker != nil {
		return l.broker.Credentials(r)
	}
	return l.server.Credentials
}

// control answers requests about the fabric.
func (l *links) control(name string, log *slog.Logger) (*bus.Server, error) {
	return bus.NewServer(bus.ServerConfig{
		Fabric: name, Broker: l.broker, URL: l.server.URL, Credentials: l.server.Credentials,
		OnError: func(err error) { log.Warn("control", "err", err) }, Log: log,
	})
}

func (l *links) close() (err error) {
	if l.ownKeys {
		l.keys.close()
	}
	if l.peers != nil {
		err = l.peers.Close()
	}
	if l.transport != nil {
		err = errors.Join(err, l.transport.Close())
	}
	if l.broker != nil {
		l.broker.Shutdown()
	}
	return err
}
