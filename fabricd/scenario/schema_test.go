package scenario_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

const schemaFile = "../../docs/schema/scenario.schema.json"

func TestThePublishedSchemaIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	want, err := format.Schema()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(schemaFile), 0o755))
		require.NoError(t, os.WriteFile(schemaFile, want, 0o644))
	}
	got, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run make schema")
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := format.Schema()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("scenario.schema.json", doc))
	s, err := c.Compile("scenario.schema.json")
	require.NoError(t, err)
	return s
}

// validate checks a YAML file against the schema, as editors do.
func validate(t *testing.T, s *jsonschema.Schema, path string) error {
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

func TestShippedScenariosFitTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, path := range append(shipped(t), files(t, "testdata/*.yaml")...) {
		assert.NoError(t, validate(t, s, path), path)
	}
}

func TestTheSchemaRefusesWhatHasTheWrongShape(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, name := range []string{
		"unknown-field", "unknown-expectation", "wrong-types", "missing-fields", "bad-values", "bad-parameters", "bad-targets",
		"not-names", "no-names", "bad-damping", "bad-interval",
		"bad-send", "bad-choices", "no-port",
	} {
		assert.Error(t, validate(t, s, "testdata/bad/"+name+".yaml"), name)
	}
}
