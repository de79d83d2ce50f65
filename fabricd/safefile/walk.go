package safefile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxLinks = 40 // followed on the way to a file, as Linux has it

// walk goes to a file or folder from the root and refuses a way that another user could have led
// elsewhere, or could yet. It returns the path without links, which is safe to use: nobody else can
// change it any more. What is not there is [fs.ErrNotExist].
func walk(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at, rest, links := top(abs), parts(abs), 0
	root, err := os.Lstat(at)
	if err == nil {
		err = safeFolder(path, at, root)
	}
	if err != nil {
		return "", err
	}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("%s: more than %d symbolic links on the way: %w", path, maxLinks, ErrUnsafe)
			}
			if !trusted(info) {
				return "", fmt.Errorf("%s: the symbolic link %s belongs to %s, who can lead it elsewhere: %w: name another, or "+
					"remove the link", path, next, owner(info), ErrUnsafe)
			}
			to, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(to) {
				at = top(to)
			}
			rest = append(parts(to), rest...)
		case mode.IsDir():
			if err := safeFolder(path, next, info); err != nil {
				return "", err
			}
			at = next
		case len(rest) == 0:
			return next, nil
		default:
			return "", fmt.Errorf("%s: %s is %s and no folder: name another", path, next, kind(info))
		}
	}
	return at, nil
}

// top is the root that an absolute path begins at: of its volume, where a system has volumes.
func top(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// parts are the names of a path, below its root if it has one.
func parts(path string) []string {
	return strings.Split(path[len(filepath.VolumeName(path)):], string(filepath.Separator))
}

// safeFolder refuses a folder on the way in which another user can put something in the place of
// what is ours. In one with the sticky bit, as /tmp, each can replace only what is their own.
func safeFolder(path, at string, info fs.FileInfo) error {
	switch {
	case !trusted(info):
		return fmt.Errorf("%s: the folder %s belongs to %s, who can change what is in it: %w: name a place of your own",
			path, at, owner(info), ErrUnsafe)
	case lets(info, 0o022) && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("%s: the mode of folder %s, %v, or its access control list, lets others change what is in it: "+
			"%w: run chmod go-w %s, or name another place",
			path, at, info.Mode().Perm(), ErrUnsafe, at)
	}
	return nil
}

func kind(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
