package testenv

import (
	"context"
	"sync/atomic"
)

// Interrupted is a context that ends while somebody computes: when it is asked for the n-th time
// whether it has ended, 0 for never.
type Interrupted struct {
	context.Context
	end   context.CancelFunc
	n     int64
	asked atomic.Int64
}

// NewInterrupted is a context that ends with its parent too.
func NewInterrupted(parent context.Context, n int) *Interrupted {
	ctx, end := context.WithCancel(parent)
	return &Interrupted{Context: ctx, end: end, n: int64(n)}
}

// Err implements [context.Context].
func (c *Interrupted) Err() error {
	if c.asked.Add(1) == c.n {
		c.end()
	}
	return c.Context.Err()
}

// Asked is how often it was asked.
func (c *Interrupted) Asked() int { return int(c.asked.Load()) }
