package document

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// version is a type with a text of its own form, a number in Go.
type version int

func (version) Pattern() string { return `^v[0-9.]+$` }

func (v *version) UnmarshalText(text []byte) error {
	if len(text) == 0 || text[0] != 'v' {
		return errors.New(string(text) + " is not a version")
	}
	*v = version(len(text))
	return nil
}

type versioned struct {
	One   version   `yaml:"one"`
	Two   *version  `yaml:"two,omitempty"`
	Three []version `yaml:"three,omitempty"`
}

func TestATextOfItsOwnFormIsDecoded(t *testing.T) {
	_, v, err := Load[versioned]("f", []byte("one: v1\ntwo: 'v22'\nthree: [v1, v2.10]"))
	require.NoError(t, err)
	assert.Equal(t, versioned{One: 2, Two: new(version(3)), Three: []version{2, 5}}, v)
	_, v, err = Load[versioned]("f", []byte("one: v1\ntwo:"))
	require.NoError(t, err)
	assert.Nil(t, v.Two)
	_, _, err = Load[versioned]("f", []byte("one: |-\n  v1"))
	require.NoError(t, err)
}

// The type says what is wrong, and this package where; the text is as it stands in the file, with
// the 0 at its end.
func TestAMistakeInATextOfItsOwnFormHasAPlace(t *testing.T) {
	for in, want := range map[string]string{
		"one: v1\ntwo: 1.10":         "f:2:6: 1.10 is not a version",
		"one: v1\nthree: [v1, true]": "f:2:13: true is not a version",
		"one: {a: 1}":                "f:1:6: found a mapping, expected a text",
		"one: [v1]":                  "f:1:6: found a list, expected a text",
		"one:":                       "f:1:6: found nothing, expected a text",
		"one: 1\ntwo: 2":             "f:1:6: 1 is not a version\nf:2:6: 2 is not a version",
	} {
		_, _, err := Load[versioned]("f", []byte(in))
		assert.EqualError(t, err, want, "%q", in)
	}
}

func TestSchemaHasThePatternOfATextOfItsOwnForm(t *testing.T) {
	got, err := Schema(versioned{}, "versioned")
	require.NoError(t, err)
	assert.Contains(t, string(got), "\"one\": {\n      \"type\": \"string\",\n      \"pattern\": \"^v[0-9.]+$\"\n    }")
	assert.NotContains(t, string(got), "integer")
}
