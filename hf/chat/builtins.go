package chat

import (
	"maps"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// argument returns argument i of a call, or else the argument of that name, or else def.
func argument(list []any, named map[string]any, i int, name string, def any) any {
	if i < len(list) {
		return list[i]
	}
	if v, ok := named[name]; ok {
		return v
	}
	return def
}

// functions that templates may call.
var functions = map[string]function{
	"range":     func(s *state, list []any, _ map[string]any) any { return s.span(list) },
	"namespace": func(s *state, list []any, named map[string]any) any { return &namespace{s.mapping(list, named)} },
	"dict":      func(s *state, list []any, named map[string]any) any { return s.mapping(list, named) },
	"raise_exception": func(s *state, list []any, _ map[string]any) any {
		refuse.With("the template refuses the conversation: %.1000s", s.show(argument(list, nil, 0, "", "")))
		return nil
	},
}

// span is the function range: range(end), range(start, end) or range(start, end, step), as in Python.
func (s *state) span(list []any) []any {
	bounds := []int{0, 0, 1}
	for i, v := range list {
		n, ok := v.(int)
		if !ok || i > 2 {
			s.fail("a range of %s", brief(v))
		}
		if len(list) == 1 {
			i = 1
		}
		bounds[i] = n
	}
	from, to, by := bounds[0], bounds[1], bounds[2]
	var n uint64 // how many numbers; the difference of any two ints fits a uint64
	switch {
	case by == 0:
		s.fail("a range by steps of 0")
	case by > 0 && to > from:
		n = (uint64(to)-uint64(from)-1)/uint64(by) + 1
	case by < 0 && to < from:
		n = (uint64(from)-uint64(to)-1)/-uint64(by) + 1
	}
	s.spend(int(min(n, maxWork)), elementWork)
	out := make([]any, n)
	for i := range out {
		out[i] = from + i*by
	}
	return out
}

// mapping is the function dict: a new mapping with the entries of the first argument, if there is one, and the named arguments.
func (s *state) mapping(list []any, named map[string]any) *dict {
	d := newDict()
	if len(list) > 0 {
		of, ok := list[0].(*dict)
		if !ok {
			s.fail("a mapping of %s", brief(list[0]))
		}
		s.spend(len(of.keys), entryWork)
		for _, k := range of.keys {
			d.set(k, of.items[k])
		}
	}
	s.spend(len(named), entryWork)
	for _, k := range slices.Sorted(maps.Keys(named)) {
		d.set(k, named[k])
	}
	return d
}
