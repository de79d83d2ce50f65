// Package experiment has what the commands of the experiments share.
package experiment

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Main is the main function of a command: run gets the arguments, and a context that an interrupt
// ends. The process exits with 1 when run fails, and says why.
func Main(run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Median is the value in the middle of a list, the upper one of two. The list is not empty.
func Median[T cmp.Ordered](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// Sleep is over when the time is, or ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CPUSeconds is the processor time that this process has had.
func CPUSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
