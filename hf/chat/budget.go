package chat

import "fmt"

// A template comes from whoever published the model. A few characters of it can ask for
// more memory or time than any machine has: a text that doubles in a loop, or a comparison
// of lists that contain the same list twice. So the bytes that each operation reads or
// makes are counted before it runs, and a template that does too much is refused.
const (
	maxWork = 1 << 25 // bytes, for rendering one conversation
	// The text has at most maxText bytes plus textPerByte times the bytes of the conversation.
	maxText     = 1 << 20
	textPerByte = 4
	// maxNested is the deepest nesting of lists and mappings, and maxDeep that of expressions.
	maxNested = 200
	maxDeep   = 10000
)

// The work of other operations. It is given as the number of bytes of text that take about as much memory and time.
const (
	stepWork    = 16  // an expression, a statement, an element that is looked at
	elementWork = 48  // an element of a list, with a short text in it
	entryWork   = 128 // an entry of a mapping
	scopeWork   = 128 // a scope with its variables, such as that of a loop's round or of a macro call
)

// spend counts n operations with the work each, and fails if that exceeds the budget.
func (s *state) spend(n, each int) {
	if n > (maxWork-s.work)/each {
		s.fail("the template takes more work than %d bytes of reading and writing: no conversation needs that much", maxWork)
	}
	s.work += n * each
}

// fail stops rendering with an error that names the line of the current statement.
func (s *state) fail(format string, args ...any) { fail(s.line, format, args...) }

// nested fails if depth, the number of lists and mappings around a value, exceeds maxNested.
func (s *state) nested(depth int) {
	if depth > maxNested {
		s.fail("a value is nested deeper than %d", maxNested)
	}
}

// brief describes a value in an error message. It does not write out lists and mappings, which may be large.
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
