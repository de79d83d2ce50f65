package command

import (
	"context"
	"fmt"
)

// UnlessInterrupted is what f gives, or the error that it was interrupted: engines are functions
// that nothing stops, so f has a goroutine of its own, which ends with the process.
func UnlessInterrupted[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		if a.err == nil || ctx.Err() == nil {
			return a.value, a.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, fmt.Errorf("interrupted, %s", what)
}
