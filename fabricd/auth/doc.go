// Package auth makes what a fabric over many hosts is protected by, and replaces it while the
// fabric runs: the keys and tokens of NATS accounts, certificates, the configuration of servers
// that trust them, and the tokens of the HTTP API. All of it is files in one folder:
//
//	auth.json         what there is, by public keys: no secrets
//	ca.pem            the authority of all certificates
//	keys/             what signs; it stays with who administers the fabric
//	leader/           for the process that leads: its credentials, a key with which it makes those of hosts, the tokens of the API, a certificate
//	hosts/<host>/     for one host: the configuration of its NATS server, its certificate, the credentials of its agent
//	users/            credentials of the subnet manager, of operators and of viewers
//
// A fabric is an account of NATS, which sees nothing of others. Who may do what in it is written in
// package bus, and in docs/reference/security.md.
package auth
