package opensm

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Syntax is how [Open] is told which files to read.
const Syntax = "FILE[,sl2vl=FILE][,path-sl=FILE][,guid2lid=FILE]"

// maxSize bounds what is read of one file, in bytes. Chosen by us: dumps of 1,000 switches with
// 10,000 NICs have 0.7 GB.
const maxSize = 1 << 30

// Open loads the routing of the files that spec names, in the form of [Syntax]. Names that end in
// .gz are of compressed files. Errors are those of [Load].
func Open(ctx context.Context, g *topology.Graph, spec string) (*layered.Routing, error) {
	words := strings.Split(spec, ",")
	names := map[string]string{"": words[0]}
	keys := []string{"guid2lid", "path-sl", "sl2vl"}
	for _, w := range words[1:] {
		key, name, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("tables:%s: found %q, expected %s", nearest.Clip(spec), nearest.Clip(w), Syntax)
		}
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("tables:%s: %w", nearest.Clip(spec), document.Unknown("option", key, keys))
		}
		if names[key] != "" {
			return nil, fmt.Errorf("tables:%s: %s is there twice", nearest.Clip(spec), key)
		}
		names[key] = name
	}
	if words[0] == "" {
		return nil, fmt.Errorf("tables: no file, expected %s", Syntax)
	}
	var opened []io.Closer
	defer func() {
		for _, c := range opened {
			_ = c.Close() // read only
		}
	}()
	open := func(key string) (*File, error) {
		if names[key] == "" {
			return nil, nil
		}
		f, err := os.Open(names[key])
		if err != nil {
			return nil, err
		}
		opened = append(opened, f)
		var r io.Reader = f
		if strings.HasSuffix(names[key], ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				return nil, fmt.Errorf("%s: %w", names[key], err)
			}
		}
		return &File{names[key], &bounded{r, maxSize, ctx}}, nil
	}
	lft, err := open("")
	var files Files
	if err == nil {
		files.LFT = *lft
		files.SL2VL, err = open("sl2vl")
	}
	if err == nil {
		files.PathSL, err = open("path-sl")
	}
	if err == nil {
		files.GUID2LID, err = open("guid2lid")
	}
	if err != nil {
		return nil, err
	}
	r, err := Load(ctx, g, files)
	if err != nil {
		return nil, err
	}
	r.Engine = "tables:" + spec // with the options: other layers are another routing
	return r, nil
}

var errTooLarge = errors.New("the file is larger than 1 GiB, which is the most that is read")

// bounded is a reader that errs where a file is too large, and when ctx ends before all is read.
type bounded struct {
	r    io.Reader
	left int
	ctx  context.Context
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
