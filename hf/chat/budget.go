package chat

import "fmt"

// A template comes from whoever published the model, and a few characters of it can ask for
// more than any machine has: a text that doubles in a loop, a comparison of lists that hold
// the same list twice. So all that a template does is counted before it is done, in bytes
// that are read or made, and a template that does too much is refused.
const (
	maxWork = 1 << 25
	// A text is at most so much longer than textPerByte times the conversation.
	maxText     = 1 << 20
	textPerByte = 4
	// maxNested bounds lists within lists, and maxDeep expressions within expressions.
	maxNested = 200
	maxDeep   = 10000
)

// What is counted beside the bytes of texts, by the memory and the time that it takes.
const (
	stepWork    = 16  // an expression, a statement, an element that is looked at
	elementWork = 48  // an element of a list, with a short text in it
	entryWork   = 128 // an entry of a mapping
	scopeWork   = 128 // a set of variables: of a round of a loop, of a macro's call
)

// spend counts n things of so much work each, and gives up if that is too much.
func (s *state) spend(n, each int) {
	if n > (maxWork-s.work)/each {
		s.fail("the template takes more work than %d bytes of reading and writing: no conversation needs that much", maxWork)
	}
	s.work += n * each
}

// fail gives up at the statement that runs.
func (s *state) fail(format string, args ...any) { fail(s.line, format, args...) }

// nested refuses a value that stands too deep within lists and mappings.
func (s *state) nested(depth int) {
	if depth > maxNested {
		s.fail("a value is nested deeper than %d", maxNested)
	}
}

// brief names a value in an error: a list may be too large to be written.
func brief(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case undefined:
		return v.what + ", which is not defined"
	case string:
		if len(v) > 40 {
			return fmt.Sprintf("%q…", v[:40])
		}
		return fmt.Sprintf("%q", v)
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case *dict:
		return fmt.Sprintf("a mapping of %d", len(v.keys))
	case bool, int, float64:
		return fmt.Sprint(v)
	}
	return "a function or a namespace"
}
