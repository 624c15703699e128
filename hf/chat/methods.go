package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// method calls a method of a value, such as a string's strip. It fails if the value has no such method.
func (s *state) method(of any, name string, list []any, named map[string]any) any {
	var v any
	ok := false
	switch of := of.(type) {
	case string:
		v, ok = s.textMethod(of, name, list, named)
	case *dict:
		v, ok = s.dictMethod(of, name, list, named)
	}
	if !ok {
		s.fail("the method %q is not understood", name)
	}
	return v
}

// text returns argument i of a method, which must be a text.
func (s *state) text(method string, list []any, i int) string {
	t, ok := argument(list, nil, i, "", nil).(string)
	if !ok {
		s.fail("argument %d of %s is no string", i, method)
	}
	return t
}

// textMethod calls a method of a text; ok is false if there is none of that name.
func (s *state) textMethod(of, name string, list []any, named map[string]any) (v any, ok bool) {
	s.spend(len(of), 1)
	switch name {
	case "strip", "lstrip", "rstrip":
		return s.strip(of, argument(list, named, 0, "chars", nil), name != "rstrip", name != "lstrip"), true
	case "upper":
		return s.upper(of), true
	case "lower":
		return s.lower(of), true
	case "capitalize":
		return s.capital(of), true
	case "title":
		return s.title(of), true
	case "startswith":
		return s.hasEnd(strings.HasPrefix, of, name, list), true
	case "endswith":
		return s.hasEnd(strings.HasSuffix, of, name, list), true
	case "replace":
		if len(list) > 2 {
			return nil, false
		}
		return s.replace(of, s.text(name, list, 0), s.text(name, list, 1)), true
	case "find":
		if i := strings.Index(of, s.text(name, list, 0)); i >= 0 {
			return utf8.RuneCountInString(of[:i]), true
		}
		return -1, true
	case "count":
		return strings.Count(of, s.text(name, list, 0)), true
	case "join":
		return s.join(s.items(argument(list, nil, 0, "", nil)), of), true
	case "split":
		return s.split(of, list, named), true
	case "splitlines":
		return s.cut(strings.TrimSuffix(of, "\n"), "\n", -1), true
	}
	return nil, false
}

// hasEnd is startswith or endswith of a text, with has strings.HasPrefix or strings.HasSuffix. The argument is a text, or a list of which
// one has to fit.
func (s *state) hasEnd(has func(text, end string) bool, of, method string, list []any) bool {
	all, ok := argument(list, nil, 0, "", nil).([]any)
	if !ok {
		return has(of, s.text(method, list, 0))
	}
	return slices.ContainsFunc(all, func(v any) bool {
		s.spend(1, stepWork)
		end := s.show(v)
		s.spend(min(len(end), len(of)), 1)
		return has(of, end)
	})
}

// dictMethod calls a method of a dictionary; ok is false if there is none of that name.
func (s *state) dictMethod(of *dict, name string, list []any, named map[string]any) (v any, ok bool) {
	switch name {
	case "items":
		s.spend(len(of.keys), 2*elementWork)
		out := []any{}
		for _, k := range of.keys {
			out = append(out, []any{k, of.items[k]})
		}
		return out, true
	case "keys":
		return s.items(of), true
	case "values":
		s.spend(len(of.keys), elementWork)
		out := []any{}
		for _, k := range of.keys {
			out = append(out, of.items[k])
		}
		return out, true
	case "get":
		if v, ok := of.items[s.key(s.text(name, list, 0))]; ok {
			return v, true
		}
		return argument(list, named, 1, "default", nil), true
	}
	return nil, false
}

// strip removes the characters in chars, or white space if chars is no text, from the left and the right end of a text.
func (s *state) strip(text string, chars any, left, right bool) string {
	set := unicode.IsSpace
	if c, ok := chars.(string); ok {
		set = func(r rune) bool {
			s.spend(len(c)+1, 1)
			return strings.ContainsRune(c, r)
		}
	}
	s.spend(len(text), 1)
	if left {
		text = strings.TrimLeftFunc(text, set)
	}
	if right {
		text = strings.TrimRightFunc(text, set)
	}
	return text
}

// caseWork is the work for each byte of a text whose case is changed. A character of two bytes may
// become one of three, and each character is looked up.
const caseWork = 4

func (s *state) upper(text string) string {
	s.spend(len(text), caseWork)
	return strings.ToUpper(text)
}

func (s *state) lower(text string) string {
	s.spend(len(text), caseWork)
	return strings.ToLower(text)
}

// capital is a text with its first letter in upper case and the others in lower.
func (s *state) capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(unicode.ToLower(r))) + s.lower(text[n:])
}

// title is a text with the first letter of every word in upper case and the others in lower.
func (s *state) title(text string) string {
	s.spend(len(text), caseWork)
	letter := false
	return strings.Map(func(r rune) rune {
		first := !letter
		letter = unicode.IsLetter(r)
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
}

// replace replaces every occurrence of from. If from is empty, it inserts to before the first
// character and after every character.
func (s *state) replace(text, from, to string) string {
	s.spend(len(text), 1)
	s.spend(strings.Count(text, from), len(to)+1)
	return strings.ReplaceAll(text, from, to)
}

// split cuts a text at another, or at white space if none is given.
func (s *state) split(text string, list []any, named map[string]any) any {
	most := -1
	if v, ok := argument(list, named, 1, "maxsplit", -1).(int); ok {
		most = v
	}
	switch sep := argument(list, named, 0, "sep", nil).(type) {
	case nil:
		if most < 0 {
			s.spend(len(text), elementWork/2) // a word and its space
			return texts(strings.Fields(text))
		}
	case string:
		if sep != "" {
			return s.cut(text, sep, most)
		}
	}
	s.fail("this split is not understood")
	return nil
}

// cut splits a text at sep, at most most times, or everywhere if most is negative.
func (s *state) cut(text, sep string, most int) []any {
	n := strings.Count(text, sep)
	if most >= 0 {
		n = min(n, most)
	}
	s.spend(n+1, elementWork)
	s.spend(len(text), 1)
	return texts(strings.SplitN(text, sep, n+1))
}

func texts(parts []string) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}
