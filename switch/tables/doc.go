// Package tables holds what switches forward by and NICs send by that is computed elsewhere:
// forwarding tables, addresses and the layers assigned to them, source routes and sub-headers, and
// the patches that replace them while packets travel. Firmwares (switch/firmware) read them;
// control planes make them. Pure: no clock, no goroutine, no I/O.
package tables
