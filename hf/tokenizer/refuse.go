package tokenizer

import (
	"encoding/json"
	"fmt"

	"github.com/prove-model/prove-model/internal/quote"
)

// refusal is the panic with which a file is refused while it is read. It does not leave this package: what reads a file
// makes it an error (caught).
type refusal struct{ error }

// refuse ends the reading of a file with a reason.
func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// unknown refuses something that is not supported.
func unknown(what, name string) {
	refuse("%s %s is not one that is understood; the text could not be split as the model expects", what, quote.Name(name))
}

// must returns a value, or refuses the file with the error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(refusal{err})
	}
	return v
}

// caught returns the error with which f refuses a file.
func caught(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			err = p.error
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// within has what f refuses be about a part of the file.
func within(part string, f func()) {
	if err := caught(f); err != nil {
		refuse("%s: %w", part, err)
	}
}

// unmarshalled reads JSON of which fields may be unknown.
func unmarshalled[T any](raw json.RawMessage) (v T) {
	err := json.Unmarshal(raw, &v)
	return must(v, err)
}
