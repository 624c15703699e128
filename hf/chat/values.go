package chat

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// truth is whether a value counts as true.
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

// show is a value as output writes it.
func show(v any) string {
	switch v := v.(type) {
	case undefined:
		return ""
	case string:
		return v
	}
	return repr(v)
}

// repr is a value as it is written within lists.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e16 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		quote := "'"
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			quote = `"`
		}
		return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, quote, `\`+quote).Replace(v) + quote
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = repr(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *dict:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = repr(k) + ": " + repr(v.items[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	panic(failure{errNoText})
}

// items are what a loop goes through.
func items(v any, line int) []any {
	switch v := v.(type) {
	case undefined:
		return nil
	case []any:
		return v
	case *dict:
		out := make([]any, len(v.keys))
		for i, k := range v.keys {
			out[i] = k
		}
		return out
	case string:
		out := []any{}
		for _, r := range v {
			out = append(out, string(r))
		}
		return out
	}
	fail(line, "%s is no list", show(v))
	return nil
}

// get returns an element of a list or a field.
func get(of, key any, line int) any {
	switch of := of.(type) {
	case undefined:
		fail(line, "%q is not defined", of.what)
	case *dict:
		if v, ok := of.items[show(key)]; ok {
			return v
		}
		return undefined{show(key)}
	case *namespace:
		return get(of.dict, key, line)
	case loop:
		return of.field(show(key))
	case []any:
		if i, ok := key.(int); ok {
			if i < 0 {
				i += len(of)
			}
			return at(of, i)
		}
	case string:
		if i, ok := key.(int); ok {
			return get(items(of, line), i, line)
		}
	}
	return undefined{show(key)}
}

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

func equal(a, b any) bool {
	if x, ok := number64(a); ok {
		y, ok := number64(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case *dict:
		b, ok := b.(*dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for k, v := range a.items {
			if w, ok := b.items[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		s, ok := b.(string)
		return ok && a == s
	case nil:
		return b == nil
	}
	return false
}

// contains says whether a is in b.
func contains(b, a any, line int) bool {
	switch b := b.(type) {
	case string:
		s, ok := a.(string)
		if !ok {
			fail(line, "%s is looked for in a string", show(a))
		}
		return strings.Contains(b, s)
	case *namespace:
		return contains(b.dict, a, line)
	case *dict:
		_, ok := b.items[show(a)]
		return ok
	}
	return slices.ContainsFunc(items(b, line), func(v any) bool { return equal(v, a) })
}

// operate applies an operator of two values.
func operate(op string, a, b any, line int) any {
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "in":
		return contains(b, a, line)
	case "not in":
		return !contains(b, a, line)
	case "~":
		return show(a) + show(b)
	}
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			switch op {
			case "+":
				return s + t
			case "<":
				return s < t
			case "<=":
				return s <= t
			case ">":
				return s > t
			case ">=":
				return s >= t
			}
		}
		if n, ok := b.(int); ok && op == "*" && n <= maxOutput/max(len(s), 1) {
			return strings.Repeat(s, max(n, 0))
		}
	}
	if l, ok := a.([]any); ok && op == "+" {
		if m, ok := b.([]any); ok {
			if len(l)+len(m) > maxSteps {
				fail(line, "a list is too long")
			}
			return slices.Concat(l, m)
		}
	}
	x, okX := number64(a)
	y, okY := number64(b)
	if !okX || !okY {
		fail(line, "%s of %s and %s", op, repr2(a), repr2(b))
	}
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	}
	if y == 0 && (op == "/" || op == "//" || op == "%") {
		fail(line, "division by zero")
	}
	m, okM := a.(int)
	n, okN := b.(int)
	if !okM || !okN {
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
	switch op {
	case "+":
		return m + n
	case "-":
		return m - n
	case "*":
		return m * n
	case "/":
		return x / y
	}
	quotient, rest := m/n, m%n
	if rest != 0 && (rest < 0) != (n < 0) {
		quotient, rest = quotient-1, rest+n
	}
	if op == "//" {
		return quotient
	}
	return rest
}

// repr2 is repr of what may be undefined.
func repr2(v any) string {
	if u, ok := v.(undefined); ok {
		return u.what + ", which is not defined,"
	}
	return repr(v)
}

func join(list []any, sep string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = show(v)
	}
	return strings.Join(parts, sep)
}

func length(v any, line int) int {
	if s, ok := v.(string); ok {
		return utf8.RuneCountInString(s)
	}
	return len(items(v, line))
}
