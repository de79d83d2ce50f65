package manager

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// Memory is a [State] that ends with its process: for a fabric whose links are in memory, or whose
// broker keeps nothing. The zero value is empty.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	keys     map[string]entry // guarded by mu
}

type entry struct {
	value    []byte
	revision uint64
}

// Get implements [State].
func (m *Memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.keys[key]
	if !ok {
		return nil, 0, fmt.Errorf("read %s: %w", key, reply.ErrNoKey)
	}
	return e.value, e.revision, nil
}

func (m *Memory) write(key string, value []byte, may func(e entry, ok bool) bool) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.keys[key]; !may(e, ok) {
		return 0, fmt.Errorf("write %s: %w", key, reply.ErrConflict)
	}
	if m.keys == nil {
		m.keys = map[string]entry{}
	}
	m.revision++
	m.keys[key] = entry{bytes.Clone(value), m.revision}
	return m.revision, nil
}

// Put implements [State].
func (m *Memory) Put(_ context.Context, key string, value []byte) error {
	_, err := m.write(key, value, func(entry, bool) bool { return true })
	return err
}

// Create implements [State].
func (m *Memory) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return m.write(key, value, func(_ entry, ok bool) bool { return !ok })
}

// Update implements [State].
func (m *Memory) Update(_ context.Context, key string, value []byte, last uint64) (uint64, error) {
	return m.write(key, value, func(e entry, ok bool) bool { return ok && e.revision == last })
}

// Delete implements [State].
func (m *Memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, key)
	return nil
}
