// Package namespace runs unmodified programs as if each were on a NIC of a running fabric. On Linux
// a NIC gets namespaces of its own with one interface, weft0, whose packets the NIC sends and
// takes. Programs of one NIC share them.
//
// # Who does what
//
//	server   in the process that has the NIC: a socket in the registry's folder, for its own user
//	client   linkmon exec, or a scenario: joins the namespace of a NIC, makes it if there is none
//	holder   the first process of a namespace: makes weft0, starts programs, ends with the server's word
//
// The holder passes the descriptor of weft0 to the server and keeps none, so the interface is there
// for as long as the NIC is. The server counts the clients by their connections. When the last one
// ends, however that is, the server ends the holder's connection. The holder ends what is left in
// its namespaces, waits until the kernel has sent what connections still hold, and ends. A server
// that is killed closes weft0 too; then there is nothing to wait for.
//
// Clients and holders talk through the server's sockets alone, so a program in a namespace can
// start programs on other NICs, as MPI does.
package namespace

import (
	"errors"
	"fmt"
	"os"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/nicd"
)

// Interface is the name of the interface in a namespace.
const Interface = "weft0"

// Config of a server. All is required.
type Config struct {
	Fabric string
	Host   string                     // this one, as the fabric calls it
	Names  []string                   // of all NICs of the fabric, by number
	NIC    func(weft.NICID) *nicd.NIC // nil: another host runs it
	Where  func(weft.NICID) string    // the host that runs it
	Note   func(text string)          // what the operator should know, from any goroutine; nil: nobody hears
	Now    func() weft.Time           // the clock of the fabric, for what programs tell; nil: there is none
}

// Options say which namespace a client joins.
type Options struct {
	Fabric string // empty: the only one of this machine and user
	NIC    string // its name
	MTU    int    // bytes; 0: what the namespace has, or [ip.DefaultMTU]
}

// Command is a program to run.
type Command struct {
	Args  []string    // the program and its arguments
	Env   []string    // as os.Environ has it
	Dir   string      // where it begins
	Files [3]*os.File `json:"-"` // its input, output and errors
}

// Local is the name of the host of a fabric that runs in one process.
const Local = "local"

// ErrUnable means that this system cannot have such namespaces, or does not let us. The text says
// what to set.
var ErrUnable = errors.New("programs cannot have namespaces here")

// ElsewhereError tells that another host has the NIC.
type ElsewhereError struct{ NIC, Host string }

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("NIC %s is on host %s: start the program there", e.NIC, e.Host)
}
