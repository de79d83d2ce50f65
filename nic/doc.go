// Package nic is the core of a NIC (endpoint, processing node): it generates packets, holds them in
// a bounded send queue, numbers them per flow, takes what the fabric delivers, and accounts for all
// of it. Pure, as package switching is: the time and the random draws come from outside. nic/nicd
// drives it live, harness/virtual in virtual time.
//
// [Traffic] says what all NICs of a fabric generate, and ParseTraffic reads it: where packets go,
// by which process they come, how large they are. Traffic.Sources makes of it what SetSource of
// each NIC takes, live and in virtual time alike.
//
// Injection is open loop: packets are generated at their own pace whatever the fabric does. When
// the send queue is full they are refused and counted, which is how back-pressure shows.
package nic
