package chat

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

type (
	filterFunc func(s *state, v any, list []any, named map[string]any) any
	testFunc   func(s *state, v any, list []any) bool
)

// filters and tests by name.
var (
	filters map[string]filterFunc
	tests   map[string]testFunc
)

func init() { // not in the declarations, as functions in the maps read the maps
	plain := func(f func(s *state, text string) string) filterFunc {
		return func(s *state, v any, _ []any, _ map[string]any) any { return f(s, s.show(v)) }
	}
	same := func(_ *state, text string) string { return text }
	count := func(s *state, v any, _ []any, _ map[string]any) any { return s.length(v) }
	orDefault := func(_ *state, v any, list []any, named map[string]any) any {
		_, none := v.(undefined)
		if none || truth(argument(list, named, 1, "boolean", false)) && !truth(v) {
			return argument(list, named, 0, "default_value", "")
		}
		return v
	}
	filters = map[string]filterFunc{
		"trim": func(s *state, v any, list []any, named map[string]any) any {
			return s.strip(s.show(v), argument(list, named, 0, "chars", nil), true, true)
		},
		"upper":      plain((*state).upper),
		"lower":      plain((*state).lower),
		"title":      plain((*state).title),
		"capitalize": plain((*state).capital),
		"string":     plain(same),
		"safe":       plain(same),
		"length":     count,
		"count":      count,
		"default":    orDefault,
		"d":          orDefault,
		"tojson":     (*state).toJSON,
		"replace": func(s *state, v any, list []any, _ map[string]any) any {
			if len(list) != 2 {
				s.fail("this replacement is not understood")
			}
			return s.replace(s.show(v), s.show(list[0]), s.show(list[1]))
		},
		"join": func(s *state, v any, list []any, named map[string]any) any {
			all := s.items(v)
			if key, ok := argument(nil, named, 1, "attribute", nil).(string); ok {
				all = s.each(all, key)
			}
			return s.join(all, s.show(argument(list, named, 0, "d", "")))
		},
		"first": func(s *state, v any, _ []any, _ map[string]any) any { return at(s.items(v), 0) },
		"last": func(s *state, v any, _ []any, _ map[string]any) any {
			all := s.items(v)
			return at(all, len(all)-1)
		},
		"list": func(s *state, v any, _ []any, _ map[string]any) any { return s.items(v) },
		"reverse": func(s *state, v any, _ []any, _ map[string]any) any {
			all := s.items(v)
			s.spend(len(all), stepWork)
			out := slices.Clone(all)
			slices.Reverse(out)
			if _, ok := v.(string); ok {
				return s.join(out, "")
			}
			return out
		},
		"items":      func(s *state, v any, _ []any, _ map[string]any) any { return s.method(v, "items", nil, nil) },
		"int":        func(s *state, v any, _ []any, _ map[string]any) any { return s.whole(v) },
		"map":        (*state).mapped,
		"selectattr": func(s *state, v any, list []any, _ map[string]any) any { return s.selected(v, list, true) },
		"rejectattr": func(s *state, v any, list []any, _ map[string]any) any { return s.selected(v, list, false) },
	}
	equal := func(s *state, v any, list []any) bool { return s.equal(v, argument(list, nil, 0, "", nil)) }
	tests = map[string]testFunc{
		"defined":   func(_ *state, v any, _ []any) bool { _, none := v.(undefined); return !none },
		"undefined": func(_ *state, v any, _ []any) bool { _, none := v.(undefined); return none },
		"none":      func(_ *state, v any, _ []any) bool { return v == nil },
		"true":      func(_ *state, v any, _ []any) bool { return v == true },
		"false":     func(_ *state, v any, _ []any) bool { return v == false },
		"boolean":   func(_ *state, v any, _ []any) bool { _, ok := v.(bool); return ok },
		"string":    func(_ *state, v any, _ []any) bool { _, ok := v.(string); return ok },
		"mapping":   func(_ *state, v any, _ []any) bool { _, ok := v.(*dict); return ok },
		"integer":   func(_ *state, v any, _ []any) bool { _, ok := v.(int); return ok },
		"float":     func(_ *state, v any, _ []any) bool { _, ok := v.(float64); return ok },
		"number":    func(_ *state, v any, _ []any) bool { _, ok := number64(v); return ok },
		"iterable":  iterable,
		"sequence":  iterable,
		"odd":       func(s *state, v any, _ []any) bool { return s.operate("%", v, 2) != 0 },
		"even":      func(s *state, v any, _ []any) bool { return s.operate("%", v, 2) == 0 },
		"equalto":   equal,
		"eq":        equal,
		"ne":        func(s *state, v any, list []any) bool { return !equal(s, v, list) },
		"in":        func(s *state, v any, list []any) bool { return s.contains(argument(list, nil, 0, "", nil), v) },
	}
}

func iterable(_ *state, v any, _ []any) bool {
	switch v.(type) {
	case string, []any, *dict, undefined:
		return true
	}
	return false
}

// whole converts a value to an integer, as the filter int does; the result is 0 for a value that is no number.
func (s *state) whole(v any) int {
	f, ok := number64(v)
	if n, whole := v.(int); whole {
		return n
	}
	if !ok {
		text := strings.TrimSpace(s.show(v))
		s.spend(len(text), 1)
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		var err error
		if f, err = strconv.ParseFloat(text, 64); err != nil {
			return 0
		}
	}
	if !(math.Abs(f) < 1<<63) {
		s.fail("%v has more than 63 bits, or is no number", f)
	}
	return int(f)
}

// mapped is the filter map: the list of a field of every element, or of a filter's result
// on every element.
func (s *state) mapped(v any, list []any, named map[string]any) any {
	all := s.items(v)
	if key, ok := argument(nil, named, 0, "attribute", nil).(string); ok {
		return s.each(all, key)
	}
	name := s.show(argument(list, nil, 0, "", ""))
	f := filters[name]
	if f == nil {
		s.fail("the filter %q is not understood", name)
	}
	s.spend(len(all), elementWork)
	out := make([]any, len(all))
	for i, x := range all {
		out[i] = f(s, x, list[1:], named)
	}
	return out
}

// each returns a field of every element.
func (s *state) each(all []any, key string) []any {
	s.spend(len(all), elementWork)
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = s.get(v, key)
	}
	return out
}

// selected is the filters selectattr (keep is true) and rejectattr (keep is false): the elements for which a test of a field has the result
// keep. list has the field, and perhaps the test and its arguments; without a test the field must be true.
func (s *state) selected(v any, list []any, keep bool) any {
	if len(list) == 0 {
		s.fail("a selection by no field")
	}
	holds := truth
	if len(list) > 1 {
		name := s.show(list[1])
		if name == "==" {
			name = "eq"
		}
		f := tests[name]
		if f == nil {
			s.fail("the test %q is not understood", name)
		}
		holds = func(v any) bool { return f(s, v, list[2:]) }
	}
	all, key := s.items(v), s.show(list[0])
	s.spend(len(all), elementWork)
	out := []any{}
	for _, x := range all {
		if holds(s.get(x, key)) == keep {
			out = append(out, x)
		}
	}
	return out
}
