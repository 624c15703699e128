package pipeline

import "errors"

// NotValid is the error of Verify when a proof does not hold.
type NotValid struct{ Reason error }

// Error gives the reason.
func (e *NotValid) Error() string { return "not valid: " + e.Reason.Error() }

// Unwrap returns the reason.
func (e *NotValid) Unwrap() error { return e.Reason }

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// WithHint returns err with advice on what to do about it, or nil for nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{err, hint}
}

// Hint returns the advice that err carries, or "".
func Hint(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
