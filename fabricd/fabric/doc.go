// Package fabric builds a live fabric out of its parts, a driver for every switch and NIC of a topology joined by the links
// of a transport, and runs it: traffic, faults, the ledger, quiescence, the event stream.
package fabric
