// Package schematest checks files against JSON schemas, as editors do. It is no _test file because
// the tests of several packages use it; nothing but tests imports it, and it imports nothing of
// ours.
package schematest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Compile makes a schema of its text.
func Compile(t testing.TB, text []byte, err error) *jsonschema.Schema {
	t.Helper()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	const name = "schema.json"
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(name, doc))
	s, err := c.Compile(name)
	require.NoError(t, err)
	return s
}

// Validate checks a YAML file.
func Validate(t testing.TB, s *jsonschema.Schema, path string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var v any
	require.NoError(t, yaml.Unmarshal(data, &v))
	data, err = json.Marshal(v)
	require.NoError(t, err)
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return s.Validate(v)
}

// Published checks that a file is the schema of the code. With update it is written first.
func Published(t testing.TB, file string, update bool, want []byte) {
	t.Helper()
	if update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run make schema")
}
