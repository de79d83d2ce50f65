package format

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Write prints f as YAML that [Load] reads again. Its first line has editors
// complete and check it.
func Write(f File) ([]byte, error) {
	data, err := yaml.MarshalWithOptions(f, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true),
		yaml.CustomMarshaler(number))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", f.Name, err)
	}
	return append([]byte(document.SchemaLine("scenario")), data...), nil
}

// number writes 1000000 as such: 1e+06 would be a text.
func number(v float64) ([]byte, error) { return strconv.AppendFloat(nil, v, 'f', -1, 64), nil }
