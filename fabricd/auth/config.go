package auth

import (
	"bytes"
	"net"
	"strconv"
	"text/template"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// config is that of the NATS server of one host. Paths are relative, so that the folder can be
// copied anywhere; the server is started in it. Servers know each other by certificates of the one
// authority, and everybody else by tokens of the one operator.
var config = template.Must(
	template.New("nats.conf").Parse(
		`# NATS server of host {{.Host.Name}} for the fabric {{.Fabric}}. Made by fabricd auth; keep it private, start it in this folder:
#   nats-server -c nats.conf
server_name: {{printf "%q" .Host.Name}}
listen: {{printf "%q" .Listen}}
client_advertise: {{printf "%q" .Advertise}}
max_payload: 8MB
# A token lists the links of a switch one by one.
max_control_line: 256KB
max_pending: 1GB
write_deadline: "60s"
ping_interval: "10s"

tls {
  cert_file: "./cert.pem"
  key_file: "./key.pem"
  ca_file: "./ca.pem"
  timeout: 5
}

jetstream {
  store_dir: "./jetstream"
  max_memory_store: 4GB
  max_file_store: 16GB
}
{{if .Routes}}
cluster {
  name: {{printf "%q" .Cluster}}
  listen: {{printf "%q" .ClusterListen}}
  cluster_advertise: {{printf "%q" .ClusterAdvertise}}
  tls {
    cert_file: "./cert.pem"
    key_file: "./key.pem"
    ca_file: "./ca.pem"
    verify: true
    timeout: 5
  }
  routes: [
{{- range .Routes}}
    {{printf "%q" .}}
{{- end}}
  ]
}
{{end}}
operator: {{.Operator}}
system_account: {{.System}}
resolver {
  type: full
  dir: "./accounts"
  allow_delete: false
  interval: "1m"
}
# What it knows of accounts before it has heard of newer ones.
resolver_preload {
  {{.System}}: {{.SystemToken}}
  {{.Account}}: {{.AccountToken}}
}
`))

// configure writes the configurations of all hosts.
func (d *Dir) configure() error {
	operator, err := bus.ReadKey(d.file(operatorKey))
	if err != nil {
		return err
	}
	trusted, err := bus.OperatorToken(operator, "weft-"+d.Fabric, d.System)
	if err != nil {
		return err
	}
	system, account, err := d.tokens()
	if err != nil {
		return err
	}
	for _, h := range d.Hosts {
		at := h.listens()
		in := struct {
			Host                                                 Host
			Fabric, Listen, Advertise, Cluster                   string
			ClusterListen, ClusterAdvertise                      string
			Routes                                               []string
			Operator, System, Account, SystemToken, AccountToken string
		}{
			Host: h, Fabric: d.Fabric, Listen: join(at, d.ClientPort), Advertise: join(h.Address, d.ClientPort),
			Cluster:       "weft-" + d.Fabric,
			ClusterListen: join(at, d.ClusterPort), ClusterAdvertise: join(h.Address, d.ClusterPort),
			Operator: trusted, System: d.System, Account: d.Account, SystemToken: system, AccountToken: account,
		}
		for _, other := range d.Hosts {
			if other != h {
				in.Routes = append(in.Routes, "tls://"+join(other.Address, d.ClusterPort))
			}
		}
		var text bytes.Buffer
		if err := config.Execute(&text, in); err != nil {
			return err
		}
		if err := d.write(hostFile(h, configFile), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// listens is where the server of a host takes connections: at its address, or at all where that is
// a name.
func (h Host) listens() string {
	if net.ParseIP(h.Address) != nil {
		return h.Address
	}
	return "0.0.0.0"
}

func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
