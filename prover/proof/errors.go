package proof

import (
	"errors"
	"fmt"
	"io"
)

// ErrMalformed is wrapped by every error that is the fault of the bytes read,
// as opposed to the reading of them.
var ErrMalformed = errors.New("malformed")

// ErrPublic is wrapped by the error of a [Writer] that is given public values which the
// circuit cannot have: another number of values than the tensors have entries, or values out of range. It is
// never the error of a reader.
var ErrPublic = errors.New("public values that the circuit cannot have")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// readError returns the error for reading what: it wraps ErrMalformed if the file ended there, and otherwise is the I/O error.
func readError(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("ends within %s", what)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}
