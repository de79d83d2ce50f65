package fabric

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// stateVersion is that of a [State] as it is written down: raise it when State, or anything in it,
// changes in a way that would be read wrongly. A field more needs no new version: in what was
// written before it is zero.
const stateVersion = 1

// ErrStateVersion means that a state was written by a fabricd whose states are of another version.
var ErrStateVersion = errors.New("state of another version")

// storedState is a State without the methods by which it writes itself.
type storedState State

// MarshalBinary writes the state, but for its tables, as msgpack: the version, then all fields by
// the names that they have in JSON.
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

// UnmarshalBinary reads what MarshalBinary has written. The error wraps [ErrStateVersion] for a
// state of another version, and says which.
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
