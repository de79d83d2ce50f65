package lead

import (
	"errors"
	"log/slog"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Broker is that of a fabric, embedded or one that exists, with the transport of the fabric on it.
type Broker struct {
	Embedded  *bus.Broker // nil: it is not ours
	Transport *bus.NATS
	Peers     *bus.Client // switches that are processes of their own
	*Keys
	server  bus.Resolved // where it is, if not ours
	ownKeys bool         // they end with this
}

// BrokerConfig says which broker a fabric is to run on: the server named, or an embedded one that
// listens there, nowhere when empty.
type BrokerConfig struct {
	Name, Listen string
	Keeps        string // folder in which an embedded broker keeps what a manager writes down; empty: none
	Server       bus.Resolved
	Layout       *bus.Layout // of a fabric of several hosts; nil: all of it is in this process
	Keys         *Keys       // of this process; nil: opened with the broker, and closed
	Log          *slog.Logger
}

// Open starts or finds the broker and connects to it. Note hears what the user should know.
func (c BrokerConfig) Open(note func(string)) (b *Broker, err error) {
	b = &Broker{Keys: c.Keys, server: c.Server}
	for _, text := range c.Server.Notes {
		note(text)
	}
	if c.Server.URL == "" {
		if b.Embedded,
			err = bus.StartBroker(bus.BrokerConfig{
			Fabric: c.Name, Listen: c.Listen, NoListen: c.Listen == "", StoreDir: c.Keeps,
			Log: c.Log,
		}); err != nil {
			return nil, err
		}
	}
	b.Transport,
		err = bus.NewNATS(bus.NATSConfig{
		Fabric: c.Name, Broker: b.Embedded, URL: c.Server.URL,
		Credentials: c.Server.Credentials, Layout: c.Layout,
	})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	p, err := bus.Dial(bus.ClientConfig{
		Program: "fabric-" + c.Name, Leads: true,
		Fabric: c.Name, Broker: b.Embedded, URL: c.Server.URL, Credentials: c.Server.Credentials,
		OnError: func(err error) { c.Log.Warn("switch processes", "err", err) },
	})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.Peers = p
	if b.Keys != nil {
		return b, nil
	}
	b.Keys, b.ownKeys = &Keys{}, true
	if err := b.Keys.Open(c.Server, c.Name, c.Log); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// URL is where others reach the broker.
func (b *Broker) URL() string {
	if b.Embedded != nil {
		return b.Embedded.ClientURL()
	}
	return b.server.URL
}

// Credentials open a connection in a role. On a broker that is not ours, who may do what is its
// owner's business.
func (b *Broker) Credentials(r bus.Role) bus.Credentials {
	if b.Embedded != nil {
		return b.Embedded.Credentials(r)
	}
	return b.server.Credentials
}

// Control answers requests about the fabric.
func (b *Broker) Control(name string, log *slog.Logger) (*bus.Server, error) {
	return bus.NewServer(bus.ServerConfig{
		Fabric: name, Broker: b.Embedded, URL: b.server.URL, Credentials: b.server.Credentials,
		OnError: func(err error) { log.Warn("control", "err", err) }, Log: log,
	})
}

// Close ends the connections, and the broker if it is ours.
func (b *Broker) Close() (err error) {
	if b.ownKeys {
		b.Keys.Close()
	}
	if b.Peers != nil {
		err = b.Peers.Close()
	}
	if b.Transport != nil {
		err = errors.Join(err, b.Transport.Close())
	}
	if b.Embedded != nil {
		b.Embedded.Shutdown()
	}
	return err
}
