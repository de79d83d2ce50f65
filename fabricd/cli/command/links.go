package command

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Links is the broker of a fabric, ours or one that exists, with the transport of the fabric on it.
type Links struct {
	Broker    *bus.Broker  // nil: it is not ours
	server    bus.Resolved // where it is then
	Transport *bus.NATS
	Peers     *bus.Client // switches that are processes of their own
	*Keys
	ownKeys bool // they end with this
}

// BrokerConfig says which broker a fabric is to run on: the server named, or an embedded one that
// listens there, nowhere when empty.
type BrokerConfig struct {
	Name, Listen string
	Keeps        string // folder in which an embedded broker keeps what a manager writes down; empty: none
	Server       bus.Settings
	Layout       *bus.Layout // of a fabric of several hosts; nil: all of it is in this process
	Keys         *Keys       // of this process; nil: opened with the links, and closed
	Log          *slog.Logger
}

// Open starts or finds the broker and connects to it. What the user should know is printed to
// stderr.
func (b BrokerConfig) Open(stderr io.Writer) (l *Links, err error) {
	l = &Links{Keys: b.Keys}
	if l.server, err = b.Server.Resolve(os.Getenv); err != nil {
		return nil, err
	}
	for _, note := range l.server.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	if l.server.URL == "" {
		if l.Broker, err = bus.StartBroker(bus.BrokerConfig{Fabric: b.Name, Listen: b.Listen, NoListen: b.Listen == "", StoreDir: b.Keeps, Log: b.Log}); err != nil {
			return nil, err
		}
	}
	l.Transport, err = bus.NewNATS(bus.NATSConfig{Fabric: b.Name, Broker: l.Broker, URL: l.server.URL, Credentials: l.server.Credentials, Layout: b.Layout})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	p, err := bus.Dial(bus.ClientConfig{
		Program: "fabric-" + b.Name, Leads: true,
		Fabric: b.Name, Broker: l.Broker, URL: l.server.URL, Credentials: l.server.Credentials,
		OnError: func(err error) { b.Log.Warn("switch processes", "err", err) },
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.Peers = p
	if l.Keys != nil {
		return l, nil
	}
	l.Keys, l.ownKeys = &Keys{}, true
	if err := l.Keys.Open(l.server, b.Name, b.Log); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// URL is where others reach the broker.
func (l *Links) URL() string {
	if l.Broker != nil {
		return l.Broker.ClientURL()
	}
	return l.server.URL
}

// Credentials open a connection in a role. On a broker that is not ours, who may do what is its
// owner's business.
func (l *Links) Credentials(r bus.Role) bus.Credentials {
	if l.Broker != nil {
		return l.Broker.Credentials(r)
	}
	return l.server.Credentials
}

// Control answers requests about the fabric.
func (l *Links) Control(name string, log *slog.Logger) (*bus.Server, error) {
	return bus.NewServer(bus.ServerConfig{
		Fabric: name, Broker: l.Broker, URL: l.server.URL, Credentials: l.server.Credentials,
		OnError: func(err error) { log.Warn("control", "err", err) }, Log: log,
	})
}

// Close ends the connections, and the broker if it is ours.
func (l *Links) Close() (err error) {
	if l.ownKeys {
		l.Keys.Close()
	}
	if l.Peers != nil {
		err = l.Peers.Close()
	}
	if l.Transport != nil {
		err = errors.Join(err, l.Transport.Close())
	}
	if l.Broker != nil {
		l.Broker.Shutdown()
	}
	return err
}
