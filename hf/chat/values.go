package chat

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// truth reports whether a value counts as true in a condition.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// show returns a value as the output shows it: a text as it is, and other values as writeRepr writes them.
func (s *state) show(v any) string {
	switch v := v.(type) {
	case undefined:
		return ""
	case string:
		return v
	}
	var b bytes.Buffer
	s.writeRepr(&b, v, 0)
	return b.String()
}

// quotes escape a text that is written between the quotes which are the keys.
var quotes = map[string]*strings.Replacer{
	`'`: strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, `'`, `\'`),
	`"`: strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`),
}

// writeRepr writes a value as Python's repr does, with strings in quotes. depth is the number of lists and mappings around it.
func (s *state) writeRepr(b *bytes.Buffer, v any, depth int) {
	s.nested(depth)
	s.spend(1, stepWork)
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int:
		b.WriteString(strconv.Itoa(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e16 {
			b.WriteString(strconv.FormatFloat(v, 'f', 1, 64))
		} else {
			b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
	case string:
		s.spend(len(v), 4) // an escape is as long as two characters, and the buffer may have to grow
		quote := `'`
		if strings.Contains(v, `'`) && !strings.Contains(v, `"`) {
			quote = `"`
		}
		b.WriteString(quote)
		quotes[quote].WriteString(b, v)
		b.WriteString(quote)
	case []any:
		b.WriteString("[")
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			s.writeRepr(b, x, depth+1)
		}
		b.WriteString("]")
	case *dict:
		b.WriteString("{")
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			s.writeRepr(b, k, depth+1)
			b.WriteString(": ")
			s.writeRepr(b, v.items[k], depth+1)
		}
		b.WriteString("}")
	default:
		s.fail("%s is written as text", brief(v))
	}
}

// items returns the elements over which a loop runs.
func (s *state) items(v any) []any {
	switch v := v.(type) {
	case undefined:
		return nil
	case []any:
		return v
	case *dict:
		s.spend(len(v.keys), elementWork)
		return texts(v.keys)
	case string:
		s.spend(utf8.RuneCountInString(v), elementWork)
		out := []any{}
		for _, r := range v {
			out = append(out, string(r))
		}
		return out
	}
	s.fail("%s is no list", brief(v))
	return nil
}

// get returns a field of a mapping, or the element of a list or text at an index; it is undefined if there is none.
func (s *state) get(of, key any) any {
	switch of := of.(type) {
	case undefined:
		s.fail("%q is not defined", of.what)
	case *dict:
		k := s.key(key)
		if v, ok := of.items[k]; ok {
			return v
		}
		return undefined{k}
	case *namespace:
		return s.get(of.dict, key)
	case loop:
		return of.field(s.show(key))
	case []any:
		if i, ok := key.(int); ok {
			if i < 0 {
				i += len(of)
			}
			return at(of, i)
		}
	case string:
		if i, ok := key.(int); ok {
			s.spend(len(of), 5)
			all := []rune(of)
			if i < 0 {
				i += len(all)
			}
			if i >= 0 && i < len(all) {
				return string(all[i])
			}
			return at(nil, i)
		}
	}
	return undefined{s.show(key)}
}

// key returns a value as the key of a mapping. A look-up reads the whole key, which counts
// as work.
func (s *state) key(v any) string {
	k := s.show(v)
	s.spend(len(k), 1)
	return k
}

// number64 returns a number or truth value as a float64, and false for other values.
func number64(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// equal reports whether two values are equal, as == does. Numbers and truth values are compared as numbers.
func (s *state) equal(a, b any) bool { return s.equalAt(a, b, 0) }

func (s *state) equalAt(a, b any, depth int) bool {
	s.nested(depth)
	s.spend(1, stepWork)
	if x, ok := number64(a); ok {
		y, ok := number64(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(a, b any) bool { return s.equalAt(a, b, depth+1) })
	case *dict:
		b, ok := b.(*dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, k := range a.keys {
			s.spend(len(k), 1)
			if w, ok := b.items[k]; !ok || !s.equalAt(a.items[k], w, depth+1) {
				return false
			}
		}
		return true
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		if !ok || len(a) != len(b) {
			return false
		}
		s.spend(len(a), 1)
		return a == b
	case nil:
		return b == nil
	}
	return false
}

// contains reports whether a is in b.
func (s *state) contains(b, a any) bool {
	switch b := b.(type) {
	case string:
		t, ok := a.(string)
		if !ok {
			s.fail("%s is looked for in a string", brief(a))
		}
		s.spend(len(b), 1)
		return strings.Contains(b, t)
	case *namespace:
		return s.contains(b.dict, a)
	case *dict:
		_, ok := b.items[s.key(a)]
		return ok
	}
	return slices.ContainsFunc(s.items(b), func(v any) bool { return s.equal(v, a) })
}

// operate applies an operator to two values.
func (s *state) operate(op string, a, b any) any {
	switch op {
	case "==":
		return s.equal(a, b)
	case "!=":
		return !s.equal(a, b)
	case "in":
		return s.contains(b, a)
	case "not in":
		return !s.contains(b, a)
	case "~":
		return s.concat(s.show(a), s.show(b))
	}
	if v, ok := s.operateTexts(op, a, b); ok {
		return v
	}
	if l, ok := a.([]any); ok && op == "+" {
		if m, ok := b.([]any); ok {
			s.spend(len(l)+len(m), stepWork)
			return slices.Concat(l, m)
		}
	}
	x, okX := number64(a)
	y, okY := number64(b)
	if !okX || !okY {
		s.fail("%s of %s and %s", op, brief(a), brief(b))
	}
	if holds, ok := inOrder(op, x, y); ok {
		return holds
	}
	if y == 0 && (op == "/" || op == "//" || op == "%") {
		s.fail("division by zero")
	}
	m, okM := a.(int)
	n, okN := b.(int)
	if okM && okN && op != "/" {
		return s.integer(op, m, n)
	}
	return real64(op, x, y)
}

// operateTexts applies an operator to two texts, or repeats a text. ok is false if it is another
// operation.
func (s *state) operateTexts(op string, a, b any) (v any, ok bool) {
	x, isText := a.(string)
	if !isText {
		return nil, false
	}
	switch y := b.(type) {
	case string:
		s.spend(min(len(x), len(y)), 1)
		if op == "+" {
			return s.concat(x, y), true
		}
		if holds, ok := inOrder(op, x, y); ok {
			return holds, true
		}
	case int:
		if op == "*" {
			n := max(y, 0)
			s.spend(n, max(len(x), 1))
			return strings.Repeat(x, n), true
		}
	}
	return nil, false
}

// inOrder compares two values; ok is false if op is no comparison.
func inOrder[T string | float64](op string, x, y T) (holds, ok bool) {
	switch op {
	case "<":
		return x < y, true
	case "<=":
		return x <= y, true
	case ">":
		return x > y, true
	case ">=":
		return x >= y, true
	}
	return false, false
}

// real64 applies an arithmetic operator to two floats, as Python does. y is not 0 where it
// divides.
func real64(op string, x, y float64) float64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	}
	return x - float64(math.Floor(x/y)*y)
}

// concat joins two texts.
func (s *state) concat(a, b string) string {
	s.spend(len(a)+len(b), 1)
	return a + b
}

// integer applies an operator to two integers. Division rounds down, as in Python. Python's integers
// have any number of digits; here a result of more than 63 bits is an error.
func (s *state) integer(op string, m, n int) any {
	out, fits := 0, true
	switch op {
	case "+":
		out = m + n
		fits = (out > m) == (n > 0)
	case "-":
		out = m - n
		fits = (out < m) == (n > 0)
	case "*":
		hi, lo := bits.Mul64(uint64(max(m, -m)), uint64(max(n, -n)))
		out, fits = m*n, hi == 0 && lo <= math.MaxInt64
	default:
		quotient, rest := m/n, m%n
		if rest != 0 && (rest < 0) != (n < 0) {
			quotient, rest = quotient-1, rest+n
		}
		if op == "%" {
			return rest
		}
		out, fits = quotient, n != -1 || m != math.MinInt
	}
	if !fits {
		s.fail("%d %s %d has more than 63 bits", m, op, n)
	}
	return out
}

func (s *state) join(list []any, sep string) string {
	parts := make([]string, len(list))
	s.spend(len(list), stepWork+len(sep))
	for i, v := range list {
		parts[i] = s.show(v)
		s.spend(len(parts[i]), 1)
	}
	return strings.Join(parts, sep)
}

func (s *state) length(v any) int {
	switch v := v.(type) {
	case string:
		s.spend(len(v), 1)
		return utf8.RuneCountInString(v)
	case *dict:
		return len(v.keys)
	}
	return len(s.items(v))
}
