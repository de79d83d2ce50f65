package sweep

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const schemaFile = "../../docs/schema/experiment.schema.json"

func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, list, pattern)
	return list
}

// Each testdata/bad/*.yaml has beside it what is said about it.
func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "testdata/bad/*.yaml") {
		_, err := Read(path)
		require.Error(t, err, path)
		got := strings.ReplaceAll(err.Error(), path, filepath.Base(path)) + "\n"
		golden := strings.TrimSuffix(path, ".yaml") + ".txt"
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, path)
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Read("testdata/none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "testdata/none.yaml")
}

// shipped are the experiments that come with Weft.
func shipped(t *testing.T) []string {
	t.Helper()
	return files(t, "../../scenarios/papers/*/*.yaml")
}

func TestShippedExperimentsAreValidAndFitTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, path := range append(shipped(t), "testdata/small.yaml") {
		e, err := Read(path)
		require.NoError(t, err)
		assert.NotEmpty(t, e.Plots, path)
		assert.NotEmpty(t, e.Checks, path)
		assert.NoError(t, validate(t, s, path), path)
		_, full := e.Size(false, 0)
		_, quick := e.Size(true, 0)
		assert.Less(t, quick, full, path)
	}
}

func TestTheSchemaRefusesWhatHasTheWrongShape(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, name := range []string{"unknown-field", "unknown-setting", "missing-fields", "bad-samples", "bad-exclude", "impossible-buffers"} {
		assert.Error(t, validate(t, s, "testdata/bad/"+name+".yaml"), name)
	}
}

func TestThePublishedSchemaIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	want, err := Schema()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, want, 0o644))
	}
	got, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run make schema")
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := Schema()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("experiment.schema.json", doc))
	s, err := c.Compile("experiment.schema.json")
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

// Any bytes give an experiment or an error that names the file; never a panic.
func FuzzLoadFile(f *testing.F) {
	for _, pattern := range []string{"testdata/small.yaml", "testdata/bad/*.yaml"} {
		list, _ := filepath.Glob(pattern)
		for _, path := range list {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("tree:")) || bytes.Contains(data, []byte("irregular")) {
			t.Skip("a large topology takes its time") // bounded by package topology
		}
		if _, err := LoadFile("f.yaml", data); err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "f.yaml"), err)
		}
	})
}

func TestEvenlySpacedValuesAreWrittenAsPeopleWould(t *testing.T) {
	t.Parallel()
	p := &parser{}
	from, to, step := 0.1, 0.7, 0.1
	assert.Equal(t, []Value{"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"}, p.between("$", Axis{From: &from, To: &to, Step: &step}))
}
