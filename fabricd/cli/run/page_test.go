package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNamesOfFoldersArePlain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"heal": "heal", "a b/c": "a-b-c", "../x": "x", "..": "scenario", "Ä": "scenario", "v1.2_x-y": "v1.2_x-y"} {
		assert.Equal(t, want, folderName(name), name)
	}
}
