package host

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// MarshalJSON implements json.Marshaler: what is counted is msgpack in a string.
func (s Sum) MarshalJSON() ([]byte, error) {
	data, err := encode(&s)
	if err != nil {
		return nil, fmt.Errorf("what host %s has counted: %w", s.Name, err)
	}
	return json.Marshal(data)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Sum) UnmarshalJSON(data []byte) error {
	var body []byte
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("what a host has counted: %w", err)
	}
	*s = Sum{}
	if err := msgpack.Unmarshal(body, s); err != nil {
		return fmt.Errorf("what a host has counted: %w", err)
	}
	return nil
}

// encode writes v as msgpack, structs as arrays: both sides are of one release.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.UseArrayEncodedStructs(true)
	enc.UseCompactInts(true)
	err := enc.Encode(v)
	return b.Bytes(), err
}
