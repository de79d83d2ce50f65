// Package pace is how fast a link direction carries frames, and how badly: its rate, its delay, and
// what it suffers. It is the sending end's account of when the link is free, what may leave and
// when what was sent arrives; live and virtual drivers keep the same one. Pure: told the time,
// given its draws.
package pace
