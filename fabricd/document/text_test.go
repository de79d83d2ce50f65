package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loud reads a text in capitals.
type loud string

func (l *loud) UnmarshalText(text []byte) error {
	if s := string(text); s != strings.ToUpper(s) {
		return fmt.Errorf("%q is not loud", s)
	}
	*l = loud(text)
	return nil
}

type song struct {
	First loud   `yaml:"first"`
	Rest  []loud `yaml:"rest,omitempty"`
	Last  *loud  `yaml:"last,omitempty"`
}

func TestWhatATypeSaysOfItsTextIsReportedAtItsPlaceAndAllAtOnce(t *testing.T) {
	_, v, err := Load[song]("f.yaml", []byte("first: A\nrest: [B, \"C\", 1.5]\nlast: D\n"))
	require.NoError(t, err)
	assert.Equal(t, song{First: "A", Rest: []loud{"B", "C", "1.5"}, Last: new(loud("D"))}, v)

	_, _, err = Load[song]("f.yaml", []byte("first: a\nrest: [B, \"c\", 1e5]\nlast: d\n"))
	require.EqualError(t, err, `f.yaml:1:8: "a" is not loud
f.yaml:2:11: "c" is not loud
f.yaml:2:16: "1e5" is not loud
f.yaml:3:7: "d" is not loud`)

	_, v, err = Load[song]("f.yaml", []byte("first: A\nlast: null\n"))
	require.NoError(t, err)
	assert.Nil(t, v.Last)
}
