//go:build unix

package safefile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"
)

// NoFollow is a flag of os.OpenFile that refuses a symbolic link, where a system has it.
const NoFollow = syscall.O_NOFOLLOW

const noWait = syscall.O_NONBLOCK

// pending keeps the mode of the file that it replaces; pendingSecret is for its user alone.
func pending(to string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(to, renameio.WithPermissions(0o644), renameio.WithExistingPermissions(),
		renameio.WithTempDir(filepath.Dir(to)))
}

func pendingSecret(to string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(to, renameio.WithStaticPermissions(0o600), renameio.WithTempDir(filepath.Dir(to)))
}

// lets reports whether the mode of a file has one of these bits.
func lets(info fs.FileInfo, bits fs.FileMode) bool { return info.Mode().Perm()&bits != 0 }

func uid(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// mine reports whether a file is of the user of this process.
func mine(info fs.FileInfo) bool { return uid(info) == uint32(os.Geteuid()) }

// trusted reports whether it is, or is root's, who can do everything anyway.
func trusted(info fs.FileInfo) bool { return mine(info) || uid(info) == 0 || uid(info) == unmapped() }

// unmapped is the number by which Linux shows the users that a container's user namespace does not
// have: root of the machine, whose / that is. Nobody in there can be one of them. Where all users
// have a number it is 0.
var unmapped = sync.OnceValue(func() uint32 {
	const overflow = 65534
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, n uint64
		if _, err := fmt.Sscan(line, &first, &outside, &n); err != nil || first <= overflow && overflow < first+n {
			return 0
		}
	}
	return overflow
})

func owner(info fs.FileInfo) string {
	id := strconv.FormatUint(uint64(uid(info)), 10)
	if u, err := user.LookupId(id); err == nil {
		return "user " + u.Username
	}
	return "user " + id
}
