package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// inWords puts what cobra and the system say about the use of cmd into sentences that say what to
// do.
func inWords(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if value, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return plain.Errorf([]error{err}, "--%s needs a value: see %s --help", value.GetFlag().Name, cmd.CommandPath())
	}
	if text, ok := wrongArguments(cmd, err.Error()); ok {
		return plain.Errorf([]error{err}, "%s", text)
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		if text, ok := wrongFile(file); ok {
			return plain.Errorf([]error{err}, "%s", strings.ReplaceAll(err.Error(), file.Error(), text))
		}
	}
	return err
}

// What cobra says of arguments. Its errors have no types.
var (
	unknownCommand = regexp.MustCompile(`^unknown command ("(?:[^"\\]|\\.)*") for `)
	missingFlags   = regexp.MustCompile(`^required flag\(s\) (".*") not set$`)
	argumentCount  = regexp.MustCompile(
		`^(?:accepts|requires) (?:at (most|least) |between )?(\d+)(?: and (\d+))? arg\(s\), (?:only )?received (\d+)$`)
)

// wrongArguments is text, of cobra, in words of ours.
func wrongArguments(cmd *cobra.Command, text string) (words string, ok bool) {
	help := ": see " + cmd.CommandPath() + " --help"
	if m := unknownCommand.FindStringSubmatch(text); m != nil {
		word, err := strconv.Unquote(m[1])
		if err != nil {
			return "", false
		}
		if names := commandNames(cmd); len(names) > 0 {
			return document.Unknown("command", word, names).Error(), true
		}
		return fmt.Sprintf("%s takes no argument, and %q is one%s", cmd.CommandPath(), nearest.Clip(word), help), true
	}
	if m := missingFlags.FindStringSubmatch(text); m != nil {
		flags := strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", ")
		return fmt.Sprintf("%s needs --%s%s", cmd.CommandPath(), strings.Join(flags, " and --"), help), true
	}
	if m := argumentCount.FindStringSubmatch(text); m != nil {
		want := m[2]
		switch {
		case m[1] != "":
			want = "at " + m[1] + " " + want
		case m[3] != "":
			want += " to " + m[3]
		}
		noun := "arguments"
		if want == "1" || want == "at least 1" || want == "at most 1" {
			noun = "argument"
		}
		return fmt.Sprintf("%s takes %s %s, not %s: %s", cmd.CommandPath(), want, noun, m[4], cmd.UseLine()), true
	}
	return "", false
}

// commandNames are the subcommands that the help of cmd shows.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// wrongFile says why a file cannot be read; ok is false for other errors.
func wrongFile(at *fs.PathError) (text string, ok bool) {
	switch {
	case at.Op != "open" && at.Op != "read" && at.Op != "stat" && at.Op != "lstat":
		return "", false
	case errors.Is(at.Err, fs.ErrNotExist):
		where := ""
		if dir, err := os.Getwd(); err == nil && !filepath.IsAbs(at.Path) {
			where = " in " + dir
		}
		return fmt.Sprintf("%s: no such file or directory%s: check the name", at.Path, where), true
	case errors.Is(at.Err, fs.ErrPermission):
		return fmt.Sprintf("%s: user %s may not read it: check its owner and mode, and those of its folder, with ls -l",
			at.Path, userName()), true
	case errors.Is(at.Err, syscall.EISDIR):
		return at.Path + ": it is a folder, and a file is wanted: name a file", true
	}
	return "", false
}

// userName is who this process runs as.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}
