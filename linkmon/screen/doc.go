// Package screen is linkmon's full-screen view of a running fabric: a map, tables, events, reports
// of faults, charts, and what one switch or link is doing, live, with keys that set faults and
// repair them.
//
// It shows what a mirror makes of the frames of the state stream, which draws nothing, asks nobody
// and reads no clock. To act it runs the command lines that a user would type, through [Config.Do],
// so that keys, the command line and the shell are the same commands.
package screen
