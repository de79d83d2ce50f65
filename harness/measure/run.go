package measure

import "context"

// Run measures one network. The error wraps ErrConfig when the configuration cannot be used, and ctx.Err() when ctx ends the
// run.
func Run(ctx context.Context, c Config) (Result, error) {
	return Result{}, ctx.Err()
}
