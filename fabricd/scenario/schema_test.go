package scenario_test

import (
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document/schematest"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/harness/testenv"
)

const schemaFile = "../../docs/schema/scenario.schema.json"

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := format.Schema()
	return schematest.Compile(t, text, err)
}

func TestThePublishedSchemaIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	want, err := format.Schema()
	require.NoError(t, err)
	schematest.Published(t, schemaFile, testenv.Update(), want)
}

func TestShippedScenariosFitTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, path := range append(shipped(t), files(t, "testdata/*.yaml")...) {
		assert.NoError(t, schematest.Validate(t, s, path), path)
	}
}

func TestTheSchemaRefusesWhatHasTheWrongShape(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, name := range []string{
		"unknown-field", "unknown-expectation", "wrong-types", "missing-fields", "bad-values", "bad-parameters",
		"bad-targets",
		"not-names", "no-names", "bad-damping", "bad-interval",
		"bad-send", "bad-choices", "bad-programs", "no-port",
	} {
		assert.Error(t, schematest.Validate(t, s, "testdata/bad/"+name+".yaml"), name)
	}
}
