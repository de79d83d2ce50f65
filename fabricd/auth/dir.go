package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Names of files. Those of a folder that is copied to where it is used are constant.
const (
	stateFile   = "auth.json"
	caFile      = "ca.pem"
	certFile    = "cert.pem"
	certKeyFile = "key.pem"
	configFile  = "nats.conf"

	keysDir, leaderDir, hostsDir, usersDir = "keys", "leader", "hosts", "users"

	// leaderCreds, SignerFile and TokensFile are in the folder of who leads, agentCreds in that of
	// a host.
	leaderCreds = "leader.creds"
	SignerFile  = "signing.nk"
	TokensFile  = "tokens.json"
	agentCreds  = "agent.creds"

	operatorKey   = keysDir + "/operator.nk"
	signingKey    = keysDir + "/signing.nk"
	systemKey     = keysDir + "/system.nk"
	systemCreds   = keysDir + "/system.creds"
	renewerCreds  = keysDir + "/renewer.creds"
	authorityKey  = keysDir + "/ca.key.pem"
	managerCreds  = usersDir + "/manager/manager.creds"
	operatorCreds = usersDir + "/operator/operator.creds"
	viewerCreds   = usersDir + "/viewer/viewer.creds"
)

// ErrHost means that a host is written in a way that is not understood.
var ErrHost = errors.New("not a valid host")

// Host is a machine with a NATS server and an agent.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"` // a name or an IP address by which the others reach it
}

// ParseHost reads NAME or NAME=ADDRESS; a name alone is the address, too. Errors wrap ErrHost.
func ParseHost(text string) (Host, error) {
	name, address, ok := strings.Cut(strings.TrimSpace(text), "=")
	h := Host{name, address}
	if !ok {
		h.Address = name
	}
	valid := func(s string, more string) bool {
		return s != "" && len(s) <= 253 &&
			strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."+more) == "" &&
			!strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "-")
	}
	if len(name) > 64 || !valid(name, "") || !valid(h.Address, ":") {
		return h, fmt.Errorf("host %.80q: want NAME or NAME=ADDRESS, as a or a=10.0.0.1: %w", text, ErrHost)
	}
	return h, nil
}

// state is what there is, without secrets: the file auth.json.
type state struct {
	Version  int    `json:"version"` // of this format
	Fabric   string `json:"fabric"`
	Operator string `json:"operator"` // public keys of it, of the system's account and that of the fabric
	System   string `json:"system"`
	Account  string `json:"account"`
	// Signers and SystemSigners may sign users of the two accounts: several while keys are rotated,
	// and where several leaders run.
	Signers       []string             `json:"signers"`
	SystemSigners []string             `json:"system_signers"`
	Users         map[string][]string  `json:"users"` // public keys of each, since the latest rotation
	Revoked       map[string]time.Time `json:"revoked,omitempty"`
	Hosts         []Host               `json:"hosts"`
	ClientPort    int                  `json:"client_port"`
	ClusterPort   int                  `json:"cluster_port"`
	Rotated       time.Time            `json:"rotated"`
}

const stateVersion = 1

// Dir is a folder that Init has made. It is held by one command at a time, until Close.
type Dir struct {
	path string
	lock *flock.Flock
	state
}

// Open opens a folder that Init has made, for this process alone until Close.
func Open(path string) (*Dir, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: make it with fabricd auth init --dir %s", path, path)
	}
	if _, err := os.Lstat(filepath.Join(path, stateFile)); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no keys of a fabric: make them with fabricd auth init --dir %s", path, path)
	}
	d, err := hold(path)
	if err != nil {
		return nil, err
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func hold(path string) (*Dir, error) {
	if _, err := safefile.Folder(path); err != nil {
		return nil, fmt.Errorf("folder of keys: %w", err)
	}
	d := &Dir{path: path, lock: safefile.NewLock(filepath.Join(path, ".lock"), 0o600)}
	ok, err := d.lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("folder of keys %s: %w", path, err)
	case !ok:
		return nil, fmt.Errorf("folder of keys %s: another fabricd auth is at work there: wait for its end", path)
	}
	return d, nil
}

// Close lets others use the folder.
func (d *Dir) Close() error { return d.lock.Unlock() }

func (d *Dir) load() error {
	text, err := safefile.ReadSecret(d.file(stateFile))
	if err != nil {
		return fmt.Errorf("folder of keys: %w", err)
	}
	if err := json.Unmarshal(text, &d.state); err != nil {
		return fmt.Errorf("%s: %w", d.file(stateFile), err)
	}
	if d.Version != stateVersion {
		return fmt.Errorf("%s is of version %d, and this program knows version %d: use the program that made it",
			d.file(stateFile), d.Version, stateVersion)
	}
	return nil
}

func (d *Dir) save() error {
	text, err := json.MarshalIndent(d.state, "", "  ")
	if err != nil {
		return err
	}
	return safefile.WriteSecret(d.file(stateFile), append(text, '\n'))
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// write writes one file of the folder, readable by its user only.
func (d *Dir) write(name string, text []byte) error {
	path := d.file(name)
	if _, err := safefile.Folder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("folder of keys: %w", err)
	}
	return safefile.WriteSecret(path, text)
}

func (d *Dir) writeKey(name string, k bus.Key) error {
	return d.write(name, append(slices.Clone(k.Seed), '\n'))
}

func hostFile(h Host, name string) string { return hostsDir + "/" + h.Name + "/" + name }

// URL is where the servers are.
func (d *Dir) URL() string {
	urls := make([]string, len(d.Hosts))
	for i, h := range d.Hosts {
		urls[i] = "tls://" + net.JoinHostPort(h.Address, strconv.Itoa(d.ClientPort))
	}
	return strings.Join(urls, ",")
}

// account and system are what the servers are to know.
func (d *Dir) account() bus.Account {
	return bus.Account{
		Name: "weft-" + d.Fabric, Public: d.Account, Signers: d.Signers, Revoked: d.Revoked,
		JetStreamBytes: keeps,
	}
}

func (d *Dir) system() bus.Account {
	return bus.Account{Name: "weft-system", Public: d.System, Signers: d.SystemSigners}
}

// keeps is how much the servers keep for a fabric, on disk and in memory each: its tables, above
// all.
const keeps = 4 << 30

// user makes credentials of a role and writes them; name is that of an agent.
func (d *Dir) user(signer bus.Key, file string, r bus.Role, name string) error {
	key, err := bus.NewKey(bus.UserKey)
	if err != nil {
		return err
	}
	token, err := bus.UserToken(signer, d.Account, d.Fabric, key.Public, r, name)
	if err != nil {
		return err
	}
	d.note(r.User(name), key.Public)
	return d.writeCreds(file, token, key)
}

// note remembers the key of a user, to revoke it by the user's name.
func (d *Dir) note(user, public string) { d.Users[user] = append(d.Users[user], public) }

func (d *Dir) writeCreds(file, token string, key bus.Key) error {
	text, err := bus.CredsFile(token, key)
	if err != nil {
		return err
	}
	return d.write(file, text)
}

// users makes the credentials of all processes and people, which signers sign.
func (d *Dir) users(signer, system bus.Key) error {
	d.Users = map[string][]string{}
	for file, r := range map[string]bus.Role{
		leaderDir + "/" + leaderCreds: bus.RoleFabric, managerCreds: bus.RoleManager, operatorCreds: bus.RoleOperator,
		viewerCreds: bus.RoleViewer, renewerCreds: bus.RoleRenewer,
	} {
		if err := d.user(signer, file, r, ""); err != nil {
			return err
		}
	}
	for _, h := range d.Hosts {
		if err := d.user(signer, hostFile(h, agentCreds), bus.RoleAgent, h.Name); err != nil {
			return err
		}
	}
	key, err := bus.NewKey(bus.UserKey)
	if err != nil {
		return err
	}
	token, err := bus.SystemUser(system, d.System, key.Public)
	if err != nil {
		return err
	}
	return d.writeCreds(systemCreds, token, key)
}

// tokens are those of the two accounts.
func (d *Dir) tokens() (system, account string, err error) {
	operator, err := bus.ReadKey(d.file(operatorKey))
	if err == nil {
		system, err = d.system().Token(operator)
	}
	if err == nil {
		account, err = d.account().Token(operator)
	}
	return system, account, err
}

// unknown says that there is no such user.
func (d *Dir) unknown(name string) error {
	return fmt.Errorf("%w; a host is given by its key, which begins with U",
		document.Unknown("user", name, slices.Sorted(maps.Keys(d.Users))))
}
