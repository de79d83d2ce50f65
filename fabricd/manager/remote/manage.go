package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Manage manages a fabric over its broker until ctx ends. Note hears what the operator should know,
// tell what the manager does. On a broker that keeps nothing there is one manager at most, and who
// comes after it begins anew. The error wraps [reply.ErrEnded] when the fabric has ended.
func Manage(ctx context.Context, c bus.ClientConfig, method string, log *slog.Logger, note func(string),
	tell func(manager.Note),
) (err error) {
	f, err := Dial(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	cfg := manager.Config{Fabric: f, Method: method, Log: log, Tell: tell}
	s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: c.Fabric, URL: c.URL, Credentials: c.Credentials})
	switch {
	case err == nil:
		defer s.Close()
		cfg.State = s
	case ctx.Err() != nil: // before it has begun
		return nil
	case errors.Is(err, bus.ErrNoStore):
		note(fmt.Sprintf("subnet manager: %v: one after it begins anew, and no other must run beside it", err))
		cfg.State = &manager.Memory{}
	default:
		return err
	}
	return noticed(manager.New(cfg).Run(ctx), f.Ended())
}

// noticed is how managing has ended with err. Of a fabric that has ended, the end may be noticed by
// its store or by an answer that does not come.
func noticed(err error, ended bool) error {
	if err == nil || !ended {
		return err
	}
	return reply.ErrEnded
}
