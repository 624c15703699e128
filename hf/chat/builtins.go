package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

var errNoText = errors.New("a function or a namespace is written as text")

// argument returns argument i of a call, or the one of that name, or usual.
func argument(list []any, named map[string]any, i int, name string, usual any) any {
	if i < len(list) {
		return list[i]
	}
	if v, ok := named[name]; ok {
		return v
	}
	return usual
}

// functions that templates may call.
var functions = map[string]function{
	"range": func(_ *state, line int, list []any, _ map[string]any) any {
		bounds := []int{0, 0, 1}
		for i, v := range list {
			n, ok := v.(int)
			if !ok || i > 2 {
				fail(line, "a range of %v", list)
			}
			if len(list) == 1 {
				i = 1
			}
			bounds[i] = n
		}
		out := []any{}
		if bounds[2] == 0 {
			fail(line, "a range by steps of 0")
		}
		for i := bounds[0]; bounds[2] > 0 && i < bounds[1] || bounds[2] < 0 && i > bounds[1]; i += bounds[2] {
			if out = append(out, i); len(out) > maxSteps {
				fail(line, "a range is too long")
			}
		}
		return out
	},
	"namespace": func(_ *state, line int, list []any, named map[string]any) any {
		return &namespace{dictFrom(line, list, named)}
	},
	"dict": func(_ *state, line int, list []any, named map[string]any) any { return dictFrom(line, list, named) },
	"raise_exception": func(_ *state, _ int, list []any, _ map[string]any) any {
		panic(failure{fmt.Errorf("the template refuses the conversation: %s", show(argument(list, nil, 0, "", "")))})
	},
}

func dictFrom(line int, list []any, named map[string]any) *dict {
	d := newDict()
	if len(list) > 0 {
		of, ok := list[0].(*dict)
		if !ok {
			fail(line, "a mapping of %s", show(list[0]))
		}
		for _, k := range of.keys {
			d.set(k, of.items[k])
		}
	}
	for _, k := range sortedKeys(named) {
		d.set(k, named[k])
	}
	return d
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// strip takes characters off the ends of a text: white space if it is not told.
func strip(s string, chars any, left, right bool) string {
	set := unicode.IsSpace
	if c, ok := chars.(string); ok {
		set = func(r rune) bool { return strings.ContainsRune(c, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, set)
	}
	if right {
		s = strings.TrimRightFunc(s, set)
	}
	return s
}

// capital is a text with its first letter in upper case and the others in lower.
func capital(s string) string {
	r := []rune(strings.ToLower(s))
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// title is capital of every word.
func title(s string) string {
	letter := false
	return strings.Map(func(r rune) rune {
		first := !letter
		letter = unicode.IsLetter(r)
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

// method calls a method of a value.
func method(of any, name string, list []any, named map[string]any, line int) any {
	arg := func(i int) string {
		s, ok := argument(list, nil, i, "", nil).(string)
		if !ok {
			fail(line, "argument %d of %s is no string", i, name)
		}
		return s
	}
	switch of := of.(type) {
	case string:
		switch name {
		case "strip", "lstrip", "rstrip":
			return strip(of, argument(list, named, 0, "chars", nil), name != "rstrip", name != "lstrip")
		case "upper":
			return strings.ToUpper(of)
		case "lower":
			return strings.ToLower(of)
		case "capitalize":
			return capital(of)
		case "title":
			return title(of)
		case "startswith", "endswith":
			has := strings.HasPrefix
			if name == "endswith" {
				has = strings.HasSuffix
			}
			if all, ok := argument(list, nil, 0, "", nil).([]any); ok {
				return slices.ContainsFunc(all, func(v any) bool { return has(of, show(v)) })
			}
			return has(of, arg(0))
		case "replace":
			if len(list) > 2 {
				break
			}
			return strings.ReplaceAll(of, arg(0), arg(1))
		case "find":
			if i := strings.Index(of, arg(0)); i >= 0 {
				return length(of[:i], line)
			}
			return -1
		case "count":
			return strings.Count(of, arg(0))
		case "join":
			return join(items(argument(list, nil, 0, "", nil), line), of)
		case "split":
			return split(of, list, named, line)
		case "splitlines":
			return texts(strings.Split(strings.TrimSuffix(of, "\n"), "\n"))
		}
	case *dict:
		switch name {
		case "items":
			out := []any{}
			for _, k := range of.keys {
				out = append(out, []any{k, of.items[k]})
			}
			return out
		case "keys":
			return items(of, line)
		case "values":
			out := []any{}
			for _, k := range of.keys {
				out = append(out, of.items[k])
			}
			return out
		case "get":
			if v, ok := of.items[arg(0)]; ok {
				return v
			}
			return argument(list, named, 1, "default", nil)
		}
	}
	fail(line, "the method %q is not understood", name)
	return nil
}

func split(s string, list []any, named map[string]any, line int) any {
	n := -1
	if v, ok := argument(list, named, 1, "maxsplit", -1).(int); ok && v >= 0 {
		n = v + 1
	}
	switch sep := argument(list, named, 0, "sep", nil).(type) {
	case nil:
		if n < 0 {
			return texts(strings.Fields(s))
		}
	case string:
		if sep != "" {
			return texts(strings.SplitN(s, sep, n))
		}
	}
	fail(line, "this split is not understood")
	return nil
}

func texts(parts []string) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}

// filters by name.
var filters map[string]func(v any, list []any, named map[string]any, line int) any

// tests by name.
var tests map[string]func(v any, list []any, line int) bool

func init() { // they call each other
	type any1 = func(v any, list []any, named map[string]any, line int) any
	plain := func(f func(s string) any) any1 {
		return func(v any, _ []any, _ map[string]any, _ int) any { return f(show(v)) }
	}
	count := func(v any, _ []any, _ map[string]any, line int) any { return length(v, line) }
	usual := func(v any, list []any, named map[string]any, _ int) any {
		_, none := v.(undefined)
		if none || truth(argument(list, named, 1, "boolean", false)) && !truth(v) {
			return argument(list, named, 0, "default_value", "")
		}
		return v
	}
	filters = map[string]any1{
		"trim": func(v any, list []any, named map[string]any, _ int) any {
			return strip(show(v), argument(list, named, 0, "chars", nil), true, true)
		},
		"upper":      plain(func(s string) any { return strings.ToUpper(s) }),
		"lower":      plain(func(s string) any { return strings.ToLower(s) }),
		"title":      plain(func(s string) any { return title(s) }),
		"capitalize": plain(func(s string) any { return capital(s) }),
		"string":     plain(func(s string) any { return s }),
		"safe":       plain(func(s string) any { return s }),
		"length":     count,
		"count":      count,
		"default":    usual,
		"d":          usual,
		"tojson":     toJSON,
		"replace": func(v any, list []any, named map[string]any, line int) any {
			if len(list) != 2 {
				fail(line, "this replacement is not understood")
			}
			return strings.ReplaceAll(show(v), show(list[0]), show(list[1]))
		},
		"join": func(v any, list []any, named map[string]any, line int) any {
			all := items(v, line)
			if key, ok := argument(nil, named, 1, "attribute", nil).(string); ok {
				all = each(all, key, line)
			}
			return join(all, show(argument(list, named, 0, "d", "")))
		},
		"first": func(v any, _ []any, _ map[string]any, line int) any { return at(items(v, line), 0) },
		"last": func(v any, _ []any, _ map[string]any, line int) any {
			all := items(v, line)
			return at(all, len(all)-1)
		},
		"list": func(v any, _ []any, _ map[string]any, line int) any { return items(v, line) },
		"reverse": func(v any, _ []any, _ map[string]any, line int) any {
			out := slices.Clone(items(v, line))
			slices.Reverse(out)
			if _, ok := v.(string); ok {
				return join(out, "")
			}
			return out
		},
		"items": func(v any, _ []any, _ map[string]any, line int) any { return method(v, "items", nil, nil, line) },
		"int": func(v any, _ []any, _ map[string]any, _ int) any {
			if f, ok := number64(v); ok {
				return int(math.Trunc(f))
			}
			var n int
			if _, err := fmt.Sscanf(strings.TrimSpace(show(v)), "%d", &n); err != nil {
				return 0
			}
			return n
		},
		"map": func(v any, list []any, named map[string]any, line int) any {
			all := items(v, line)
			if key, ok := argument(nil, named, 0, "attribute", nil).(string); ok {
				return each(all, key, line)
			}
			name := show(argument(list, nil, 0, "", ""))
			f := filters[name]
			if f == nil {
				fail(line, "the filter %q is not understood", name)
			}
			out := make([]any, len(all))
			for i, x := range all {
				out[i] = f(x, list[1:], named, line)
			}
			return out
		},
		"selectattr": func(v any, list []any, _ map[string]any, line int) any { return attributes(v, list, true, line) },
		"rejectattr": func(v any, list []any, _ map[string]any, line int) any { return attributes(v, list, false, line) },
	}
	same := func(v any, list []any, line int) bool { return equal(v, argument(list, nil, 0, "", nil)) }
	tests = map[string]func(v any, list []any, line int) bool{
		"defined":   func(v any, _ []any, _ int) bool { _, none := v.(undefined); return !none },
		"undefined": func(v any, _ []any, _ int) bool { _, none := v.(undefined); return none },
		"none":      func(v any, _ []any, _ int) bool { return v == nil },
		"true":      func(v any, _ []any, _ int) bool { return v == true },
		"false":     func(v any, _ []any, _ int) bool { return v == false },
		"boolean":   func(v any, _ []any, _ int) bool { _, ok := v.(bool); return ok },
		"string":    func(v any, _ []any, _ int) bool { _, ok := v.(string); return ok },
		"mapping":   func(v any, _ []any, _ int) bool { _, ok := v.(*dict); return ok },
		"integer":   func(v any, _ []any, _ int) bool { _, ok := v.(int); return ok },
		"float":     func(v any, _ []any, _ int) bool { _, ok := v.(float64); return ok },
		"number":    func(v any, _ []any, _ int) bool { _, ok := number64(v); return ok },
		"iterable":  iterable,
		"sequence":  iterable,
		"odd":       func(v any, _ []any, line int) bool { return operate("%", v, 2, line) != 0 },
		"even":      func(v any, _ []any, line int) bool { return operate("%", v, 2, line) == 0 },
		"equalto":   same,
		"eq":        same,
		"ne":        func(v any, list []any, line int) bool { return !same(v, list, line) },
		"in":        func(v any, list []any, line int) bool { return contains(argument(list, nil, 0, "", nil), v, line) },
	}
}

func iterable(v any, _ []any, _ int) bool {
	switch v.(type) {
	case string, []any, *dict, undefined:
		return true
	}
	return false
}

// each is a field of every element.
func each(all []any, key string, line int) []any {
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = get(v, key, line)
	}
	return out
}

// attributes keeps the elements whose field passes a test, or those whose does not.
func attributes(v any, list []any, keep bool, line int) any {
	if len(list) == 0 {
		fail(line, "a selection by no field")
	}
	holds := func(v any) bool { return truth(v) }
	if len(list) > 1 {
		name := show(list[1])
		if name == "==" {
			name = "eq"
		}
		f := tests[name]
		if f == nil {
			fail(line, "the test %q is not understood", name)
		}
		holds = func(v any) bool { return f(v, list[2:], line) }
	}
	out := []any{}
	for _, x := range items(v, line) {
		if holds(get(x, show(list[0]), line)) == keep {
			out = append(out, x)
		}
	}
	return out
}

// toJSON writes JSON as Python's json.dumps does, without escapes of other than
// ASCII.
func toJSON(v any, list []any, named map[string]any, line int) any {
	indent := -1
	if n, ok := argument(list, named, 0, "indent", nil).(int); ok {
		indent = min(max(n, 0), 64)
	}
	var b strings.Builder
	writeJSON(&b, v, indent, 0, line)
	return b.String()
}

func writeJSON(b *strings.Builder, v any, indent, depth, line int) {
	if depth > maxDepth || b.Len() > maxOutput {
		fail(line, "a value is too large for JSON")
	}
	nested := func(open, close string, n int, one func(i int)) {
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteString(",")
				if indent < 0 {
					b.WriteString(" ")
				}
			}
			if indent >= 0 {
				b.WriteString("\n" + strings.Repeat(" ", indent*(depth+1)))
			}
			one(i)
		}
		if n > 0 && indent >= 0 {
			b.WriteString("\n" + strings.Repeat(" ", indent*depth))
		}
		b.WriteString(close)
	}
	switch v := v.(type) {
	case []any:
		nested("[", "]", len(v), func(i int) { writeJSON(b, v[i], indent, depth+1, line) })
	case *dict:
		nested("{", "}", len(v.keys), func(i int) {
			writeJSON(b, v.keys[i], indent, depth+1, line)
			b.WriteString(": ")
			writeJSON(b, v.items[v.keys[i]], indent, depth+1, line)
		})
	case undefined, *namespace, *macro, function, loop:
		fail(line, "a value that JSON does not have")
	case float64:
		b.WriteString(repr(v))
	default:
		var w bytes.Buffer
		enc := json.NewEncoder(&w)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			fail(line, "%v", err)
		}
		b.WriteString(strings.TrimSuffix(w.String(), "\n"))
	}
}
