// Command compare runs Weft on the networks and at the loads that run.sh has run BookSim2 on, and
// draws the curves of both:
//
//	go run ./scenarios/papers/booksim/compare docs/results/booksim.csv docs/results
//
// It writes booksim-weft.csv and one SVG and PNG a network into the folder, and prints the means of
// both and their spread over the seeds. What booksim-weft.csv holds already is not measured again:
// remove it when Weft has changed. docs/results/booksim.md says what is compared.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compare BOOKSIM.csv FOLDER: give the table that run.sh has written, and where the results go")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := compare(ctx, networks, os.Args[1], os.Args[2])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// compare measures the networks that the table of BookSim2 has, and writes what it is about into
// the folder.
func compare(ctx context.Context, networks []network, table, folder string) (err error) {
	theirs, err := readTable(table)
	if err != nil {
		return err
	}
	file, before, err := resume(filepath.Join(folder, "booksim-weft.csv"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	any := false
	for i := range networks {
		n := &networks[i]
		of := theirs.of(n.name)
		if len(of) == 0 {
			continue
		}
		any = true
		ours, err := n.measure(ctx, of, before, func(r run) error {
			_, err := fmt.Fprintln(file, r)
			return err
		})
		if err != nil {
			return err
		}
		for _, end := range []string{".svg", ".png"} {
			if err := n.draw(of, ours, filepath.Join(folder, "booksim-"+n.name+end)); err != nil {
				return err
			}
		}
		fmt.Printf("%s%s", ours.summary("Weft"), of.summary("BookSim2"))
	}
	if !any {
		return fmt.Errorf("%s: no run that ended well of a network compared here: let run.sh write it", table)
	}
	return nil
}

// resume opens our table to add to it, and returns what it holds.
func resume(path string) (*os.File, table, error) {
	if text, err := os.ReadFile(path); err == nil { // a line that a kill has torn goes: its last number may look whole
		if err := os.Truncate(path, int64(bytes.LastIndexByte(text, '\n')+1)); err != nil {
			return nil, nil, err
		}
	}
	before, err := readTable(path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	if missing {
		if _, err := fmt.Fprintln(file, header); err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
	}
	return file, before, nil
}
