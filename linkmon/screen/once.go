package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/document"
)

// Pages are the names of the numbered pages.
func Pages() (names []string) {
	for _, p := range newApp(context.Background(), Config{}).roots {
		names = append(names, strings.ToLower(p.title()))
	}
	return names
}

// Of what Once prints.
const (
	// onceSpan is for how many seconds of the fabric it looks, so that there are rates of links.
	// Chosen by us: three frames.
	onceSpan = 2*minStep + 0.1
	onceTime = 10 * time.Second // then the fabric is taken for gone
)

// Once prints a page as it is now, for a terminal of so many columns and lines, and ends.
func Once(ctx context.Context, cfg Config, page string, columns, lines int, out io.Writer) error {
	a := newApp(ctx, cfg)
	a.w, a.h = columns, lines
	at := slices.Index(Pages(), page)
	if at < 0 {
		return document.Unknown("page", page, Pages())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, onceTime, fmt.Errorf("no frame of the fabric came within %v", onceTime))
	defer cancel()
	src, err := cfg.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	hello, err := greet(ctx, src)
	if err != nil {
		return err
	}
	a.connect(hello)
	a.show(at)
	first := -1.0
	err = src.Frames(ctx, func(f api.Frame) error {
		a.live = true
		a.mirror.Apply(f)
		if first < 0 {
			first = f.At
		}
		if f.At-first < onceSpan {
			return nil
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	w := colorprofile.NewWriter(out, os.Environ())
	drawn := a.lines()
	_, err = io.WriteString(w, strings.Join(drawn[:len(drawn)-1], "\n")+"\n") // the last is about keys
	return err
}

var errEnough = errors.New("enough frames")
