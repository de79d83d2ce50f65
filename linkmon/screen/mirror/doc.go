// Package mirror keeps what a viewer knows of a running fabric: its topology, and its state as the
// frames of the state stream tell it. It draws nothing, asks nobody and reads no clock.
package mirror
