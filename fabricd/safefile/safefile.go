// Package safefile writes every file of Weft, and reads those that hold secrets.
//
// A file appears whole or not at all: it is written under a fresh name beside its place and
// renamed. A secret is a file of mode 0600, and it is written and read only where no other user of
// the machine can put another file in its place: every folder and link on the way belongs to the
// user of the process or to root, and nobody else can write to it.
//
// An access control list (POSIX, on Linux) needs no look of its own: its mask stands in the group's
// bits of the mode, which bound whatever the list grants. On Windows there is no such mode: what
// others may do with a file is up to its folder, and nothing of it is checked.
package safefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrUnsafe means that another user of the machine can read a secret, or can change where a file
// is.
var ErrUnsafe = errors.New("not safe from other users of this machine")

// maxSecret bounds a secret that is read, in bytes. Chosen by us: a thousand tokens take a fifth of
// it.
const maxSecret = 1 << 20

// Write replaces the file of that name, or makes it with mode 0644 as far as the umask lets it. A
// device or pipe, as /dev/stdout, is written to. A symbolic link is followed if it belongs to the
// user of the process or to root.
func Write(path string, data []byte) error {
	return WriteTo(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteTo is Write for what write prints. When write fails, what stood there stands; its error is
// returned as it is.
func WriteTo(path string, write func(io.Writer) error) error {
	to, info, err := target(path)
	if err != nil {
		return err
	}
	if info != nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(to, os.O_WRONLY, 0)
		if err != nil {
			return failed(path, err)
		}
		return errors.Join(write(f), f.Close())
	}
	return replace(path, to, write, pending)
}

// Create opens a file to write to it bit by bit, for readers that follow it; what it held is gone.
// Names are as for Write.
func Create(path string) (*os.File, error) {
	to, info, err := target(path)
	if err != nil {
		return nil, err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | NoFollow
	if info != nil && !info.Mode().IsRegular() {
		how = os.O_WRONLY
	}
	f, err := os.OpenFile(to, how, 0o644)
	if err != nil {
		return nil, failed(path, err)
	}
	return f, nil
}

// target follows the links of a name, and tells what is there: nil if nothing is.
func target(path string) (string, fs.FileInfo, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, failed(path, err)
		case info.IsDir():
			return "", nil, fmt.Errorf("write %s: it is a folder", path)
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		case !trusted(info):
			return "", nil, fmt.Errorf("write %s: it is a symbolic link that belongs to %s: %w: name another file, or "+
				"remove the link", path, owner(info), ErrUnsafe)
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if there, err := os.Stat(path); err == nil && !there.Mode().IsRegular() {
			return path, there, nil // the links of /proc/self/fd lead to no name
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", nil, fmt.Errorf("write %s: more than %d symbolic links", path, maxLinks)
}

// fresh is a file under a fresh name, beside the place that it is meant for.
type fresh interface {
	io.Writer
	Name() string
	CloseAtomicallyReplace() error
	Cleanup() error
}

// replace makes a file under a fresh name beside its place, which O_EXCL keeps anybody from having
// made, and renames it.
func replace[F fresh](path, to string, write func(io.Writer) error, begin func(to string) (F, error)) error {
	f, err := begin(to)
	if err != nil {
		return failed(path, err)
	}
	defer func() { _ = f.Cleanup() }() // nothing to do once it is in its place
	if err := write(f); err != nil {
		if io, ok := errors.AsType[*fs.PathError](err); ok && io.Path == f.Name() { // a full disk
			return failed(path, err)
		}
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return failed(path, err)
	}
	return nil
}

// failed names the file meant: the library names the fresh one.
func failed(path string, err error) error {
	var at *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &renamed):
		err = renamed.Err
	}
	switch dir := filepath.Dir(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: folder %s: %w: make it first", path, dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("write %s: %w: this user may not write to it or make files in its folder: name another place",
			path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// WriteSecret replaces a file that its user alone can read, or makes it. Its folder is there;
// ErrUnsafe when others could change what stands in it.
func WriteSecret(path string, data []byte) error {
	dir, err := walk(filepath.Dir(path))
	if err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if info, err := os.Lstat(to); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: %s, where a file with a secret is to be: remove it, or name another: %w", path,
			kind(info), ErrUnsafe)
	}
	return replace(path, to, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}, pendingSecret)
}

// ReadSecret reads a file with a secret in it. ErrUnsafe: others can read it, or could have put
// another in its place.
func ReadSecret(path string) ([]byte, error) {
	f, err := openSecret(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(data) > maxSecret {
		err = fmt.Errorf("%s: more than %d bytes, so it is no file with keys or tokens: name another", path, maxSecret)
	}
	return data, err
}

// CheckSecret refuses what ReadSecret refuses, for a file that a library reads. There is nothing
// wrong with one that is not there: to open it says so.
func CheckSecret(path string) error {
	f, err := openSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func openSecret(path string) (*os.File, error) {
	at, err := walk(path)
	if err != nil {
		return nil, err
	}
	// What is opened is looked at, and not what was there before; a pipe would have the opening
	// wait.
	f, err := os.OpenFile(at, os.O_RDONLY|NoFollow|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = private(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// private reports what lets others than the user of the process have a secret. A file that root has
// put there may be given to us by its group, as a cluster's manager does.
func private(path string, info fs.FileInfo) error {
	allowed := fs.FileMode(0o700)
	if !mine(info) {
		allowed = 0o740
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %s, where a file with a secret was expected: %w: name another", path, kind(info), ErrUnsafe)
	case !trusted(info):
		return fmt.Errorf("%s: it belongs to %s, who can read and change the secret in it: %w: copy it to a file of your own",
			path, owner(info), ErrUnsafe)
	case lets(info, ^allowed):
		return fmt.Errorf("%s: its mode %v, or its access control list, lets others have the secret in it: %w: run chmod "+
			"go= %s, "+
			"and rotate the key if others use this machine", path, info.Mode().Perm(), ErrUnsafe, path)
	}
	return nil
}

// Folder makes a folder for its user alone (0700), with those above it, and returns its path
// without links. One that is there is checked and never changed; ErrUnsafe when it is not for its
// user alone.
func Folder(path string) (string, error) {
	at, err := walk(path)
	if errors.Is(err, fs.ErrNotExist) {
		up, base := filepath.Split(filepath.Clean(path))
		up = cmp.Or(up, ".")
		var parent string
		if parent, err = walk(up); errors.Is(err, fs.ErrNotExist) {
			parent, err = Folder(up)
		}
		if err != nil {
			return "", err
		}
		at = filepath.Join(parent, base)
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // another process of ours may be as far
			return "", fmt.Errorf("make the folder %s: %w", path, cause(err))
		}
	} else if err != nil {
		return "", err
	}
	info, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	switch {
	case !info.IsDir():
		return "", fmt.Errorf("%s: %s, where a folder was expected: %w: remove it, or name another", path, kind(info),
			ErrUnsafe)
	case !mine(info):
		return "", fmt.Errorf("%s: the folder belongs to %s: %w: name another", path, owner(info), ErrUnsafe)
	case lets(info, 0o077):
		return "", fmt.Errorf("%s: the folder's mode %v, or its access control list, lets others in: %w: look what they "+
			"have put there, then run chmod 700 %s, or name another",
			path, info.Mode().Perm(), ErrUnsafe, path)
	}
	return at, nil
}

func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// NewLock is a lock that ends with the process, on a file that holds nothing else and is made if
// need be, with that mode.
func NewLock(path string, mode fs.FileMode) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|NoFollow), flock.SetPermissions(mode))
}
