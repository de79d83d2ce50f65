package command

import (
	"strings"
)

// ShellWord is a word that a shell takes as it is.
func ShellWord(w string) string {
	if w == "" || strings.ContainsAny(w, " \t\n'\"$`\\*?()[]{}<>|&;!#~") { // a shell would take it apart
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}
