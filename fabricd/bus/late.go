package bus

// lateError is an error about an answer that did not come in time. It says what did not come, and leaves out the text of the
// context's error, which it wraps.
type lateError struct{ what, ctx error }

// Error implements error.
func (e lateError) Error() string { return e.what.Error() }

// Unwrap is both.
func (e lateError) Unwrap() []error { return []error{e.what, e.ctx} }
