package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACommandCanBePastedIntoAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"topology=kary-ntree:4,3": "topology=kary-ntree:4,3", "method=DDLR, one VC": "'method=DDLR, one VC'",
		"x=it's": `'x=it'\''s'`, "": "''",
	} {
		require.Equal(t, want, ShellWord(word))
	}
}
