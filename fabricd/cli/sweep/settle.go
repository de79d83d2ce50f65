package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/sweep"
)

// settle makes samples of all experiments until their statements are decided, or the time is out.
func (s *sweepFlags) settle(
	ctx context.Context, paths []string, engine work.Engine, stdout, stderr io.Writer,
) (err error) {
	files, err := experiments(paths)
	if err != nil {
		return err
	}
	var list []*sweep.Settling
	var reports []*sweep.Report
	ended := 0
	defer func() {
		for _, e := range list[ended:] {
			err = errors.Join(err, e.Close())
		}
	}()
	p := command.NewProgress(stderr, command.Terminal(stderr), "runs", command.TellEvery)
	defer p.End()
	for _, f := range files {
		dir, part := "", ""
		if len(files) > 1 {
			dir, part = filepath.Join(cmp.Or(s.out, "results"), f.name), f.name
		}
		e, o, err := s.options(ctx, f.path, dir)
		if err != nil {
			return err
		}
		o.Engine, o.Part = engine, part
		o.Progress = func(done, total int) { p.Told(uint64(done), uint64(total)) }
		one, err := e.Settle(o)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	timed, cancel := ctx, context.CancelFunc(func() {})
	if s.within > 0 {
		timed, cancel = context.WithTimeout(ctx, s.within)
	}
	defer cancel()
	err = sweep.SettleAll(timed, list, func(e *sweep.Settling) {
		p.End()
		fmt.Fprintf(stderr, "%s: %s, %s to decide\n", e.Name(), e.Next(), command.Counted(e.Open(), "statement"))
		p = command.NewProgress(stderr, command.Terminal(stderr), "runs", command.TellEvery)
	})
	if err != nil && (ctx.Err() != nil || timed.Err() == nil) {
		return err
	}
	p.End()
	err = nil // the time is out
	for _, e := range list {
		r, notMade := e.End()
		ended++
		if r != nil {
			reports = append(reports, r)
		}
		err = errors.Join(err, notMade)
	}
	return errors.Join(s.settled(stdout, reports), err)
}

// settled tells what came of all experiments.
func (s *sweepFlags) settled(w io.Writer, reports []*sweep.Report) error {
	var err error
	failed := 0
	for _, r := range reports {
		failed += r.Failed
	}
	if s.json {
		err = command.JSON(w, reports)
	} else {
		for i, r := range reports {
			if i > 0 {
				_, err = io.WriteString(w, "\n")
			}
			err = errors.Join(err, printSwept(w, r))
		}
	}
	if err == nil && failed > 0 {
		err = command.ErrFailed
	}
	return err
}

// experiment is the file of one, and what its folder is called among those of others.
type experiment struct{ path, name string }

// experiments are the files named, and those in folders named, in order of their names. Folders in
// these are part of the names, as in layered-fig4.
func experiments(paths []string) (list []experiment, err error) {
	add := func(root, path string) {
		name, err := filepath.Rel(root, path)
		if err != nil {
			name = filepath.Base(path)
		}
		name = strings.TrimSuffix(name, filepath.Ext(name))
		list = append(list, experiment{path, strings.ReplaceAll(filepath.ToSlash(name), "/", "-")})
	}
	for _, root := range paths {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			add(filepath.Dir(root), root) // reading it says what is wrong
			continue
		}
		n := len(list)
		err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			end := strings.ToLower(filepath.Ext(p))
			if err == nil && d.Type().IsRegular() && (end == ".yaml" || end == ".yml") {
				add(root, p)
			}
			return err
		})
		if err == nil && len(list) == n {
			err = fmt.Errorf("%s has no experiment (*.yaml)", root)
		}
		if err != nil {
			return nil, err
		}
	}
	named := map[string]string{}
	for _, e := range list {
		if other, twice := named[e.name]; twice {
			return nil, fmt.Errorf("the results of %s and %s would go to one folder, %s: settle them in two commands",
				other, e.path, e.name)
		}
		named[e.name] = e.path
	}
	return list, nil
}
