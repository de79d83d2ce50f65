package format

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Write prints f as YAML that [Load] reads again.
func Write(f File) ([]byte, error) {
	data, err := yaml.MarshalWithOptions(f, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", f.Name, err)
	}
	return data, nil
}
