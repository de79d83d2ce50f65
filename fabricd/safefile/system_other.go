//go:build !unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// NoFollow is a flag of os.OpenFile that refuses a symbolic link, where a system has it.
const NoFollow = 0

const noWait = 0

// pendingFile is a file under a fresh name until it replaces another.
type pendingFile struct {
	*os.File
	to   string
	done bool
}

func pending(to string) (*pendingFile, error) {
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+"-*")
	if err != nil {
		return nil, err
	}
	return &pendingFile{File: f, to: to}, nil
}

func pendingSecret(to string) (*pendingFile, error) { return pending(to) }

func (f *pendingFile) CloseAtomicallyReplace() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	err := os.Rename(f.Name(), f.to)
	f.done = err == nil
	return err
}

func (f *pendingFile) Cleanup() error {
	if f.done {
		return nil
	}
	_ = f.Close() // may be closed
	return os.Remove(f.Name())
}

func lets(fs.FileInfo, fs.FileMode) bool { return false }

func mine(fs.FileInfo) bool { return true }

func trusted(fs.FileInfo) bool { return true }

func owner(fs.FileInfo) string { return "another user" }
