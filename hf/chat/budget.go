package chat

import "fmt"

// A template comes from whoever published the model. A few characters of it can ask for
// more memory or time than any machine has: a text that doubles in a loop, or a comparison
// of lists that contain the same list twice. So the bytes that each operation reads or
// makes are counted before it runs, and a template that does too much is refused.
const (
	maxWork = 1 << 25
	// A text is at most maxText bytes longer than textPerByte times the conversation.
	maxText     = 1 << 20
	textPerByte = 4
	// maxNested is the deepest nesting of lists, maxDeep that of expressions.
	maxNested = 200
	maxDeep   = 10000
)

// Costs of other things than bytes of text, in bytes that take as much memory and time.
const (
	stepWork    = 16  // an expression, a statement, an element that is looked at
	elementWork = 48  // an element of a list, with a short text in it
	entryWork   = 128 // an entry of a mapping
	scopeWork   = 128 // a set of variables: of a round of a loop, of a macro's call
)

// spend counts n operations of the given work each, and fails if the budget is used up.
func (s *state) spend(n, each int) {
	if n > (maxWork-s.work)/each {
		s.fail("the template takes more work than %d bytes of reading and writing: no conversation needs that much", maxWork)
	}
	s.work += n * each
}

// fail stops with an error at the statement that runs.
func (s *state) fail(format string, args ...any) { fail(s.line, format, args...) }

// nested fails for a value that is too deep inside lists and mappings.
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
