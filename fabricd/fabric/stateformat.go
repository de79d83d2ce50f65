package fabric

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// stateVersion is the version of a written [State]. Raise it when State, or anything in it, changes
// so that older data would be misread. A new field needs no new version: in older data it is zero.
const stateVersion = 2

// ErrStateVersion means that another version of fabricd wrote the state.
var ErrStateVersion = errors.New("state of another version")

// storedState is a State without the methods that encode it.
type storedState State

// MarshalBinary writes the state without its tables as msgpack: the version, then all fields under
// their JSON names.
func (s State) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.SetCustomStructTag("json")
	enc.UseCompactInts(true)
	if err := errors.Join(enc.EncodeUint(stateVersion), enc.Encode((*storedState)(&s))); err != nil {
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote. For a state of another version the error wraps
// [ErrStateVersion] and names the version.
func (s *State) UnmarshalBinary(data []byte) error {
	dec := msgpack.NewDecoder(bytes.NewReader(data))
	dec.SetCustomStructTag("json")
	version, err := dec.DecodeUint64()
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	if version != stateVersion {
		return fmt.Errorf("%w: it is version %d, and this fabricd reads version %d: run the fabricd that wrote it",
			ErrStateVersion, version, stateVersion)
	}
	var stored storedState
	if err := dec.Decode(&stored); err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	*s = State(stored)
	return nil
}
