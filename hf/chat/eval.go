package chat

import (
	"maps"
	"strings"
)

// Values in a template are nil, bool, int, float64, string, []any, *dict, *macro, function,
// *namespace, loop or undefined.
type (
	undefined struct{ what string } // the value of what does not exist, such as a variable of this name
	function  func(s *state, list []any, named map[string]any) any
)

// dict is a mapping that keeps the order of its keys.
type dict struct {
	keys  []string
	items map[string]any
}

func newDict() *dict { return &dict{items: map[string]any{}} }

func (d *dict) set(key string, v any) {
	if _, ok := d.items[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.items[key] = v
}

// maxCalls is the deepest nesting of macro calls.
const maxCalls = 100

// state is the state of rendering a template.
type state struct {
	out     *strings.Builder
	most    int // the most bytes that out may have
	globals *scope
	line    int    // of the current statement
	work    int    // done so far, of maxWork
	deep    int    // current nesting of expressions
	calls   int    // current nesting of macro calls
	jump    string // "break" or "continue" while statements up to the loop's end are skipped, else ""
}

// write adds to the output.
func (s *state) write(text string) {
	if s.out.Len()+len(text) > s.most {
		s.fail("the text is longer than %d bytes, which is more than this conversation needs", s.most)
	}
	s.spend(len(text), 1)
	s.out.WriteString(text)
}

// captured returns the output of f, which is not added to that of the template.
func (s *state) captured(f func()) string {
	before := s.out
	s.out = &strings.Builder{}
	f()
	text := s.out.String()
	s.out = before
	return text
}

// value evaluates an expression.
func (s *state) value(e expression, sc *scope) any {
	s.spend(1, stepWork)
	if s.deep++; s.deep > maxDeep {
		s.fail("an expression is nested deeper than %d", maxDeep)
	}
	v := e(s, sc)
	s.deep--
	return v
}

// scope is a set of variables within another one, around.
type scope struct {
	vars   map[string]any
	around *scope
}

// lookUp returns the value of a variable in the innermost scope that has it.
func (s *state) lookUp(sc *scope, name string) any {
	for ; sc != nil; sc = sc.around {
		s.spend(1, stepWork)
		if v, ok := sc.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}

// inner returns a new scope within sc.
func (s *state) inner(sc *scope) *scope {
	s.spend(1, scopeWork)
	return &scope{map[string]any{}, sc}
}

// located is a statement and the line that it is on.
type located struct {
	statement
	line int
}

// Statements with several parts.
type (
	forLoop struct {
		names           []string   // of the variables that an element is assigned to
		list, filter    expression // filter is nil, or must hold for the elements that the loop runs over
		body, otherwise []located  // otherwise runs if there are no elements
	}
	macro struct {
		name     string
		params   []string
		defaults []expression
		body     []located
	}
)

// runAll runs statements until one of them breaks or continues a loop.
func runAll(s *state, sc *scope, list []located) {
	for _, st := range list {
		s.spend(1, stepWork)
		s.line = st.line
		if st.statement(s, sc); s.jump != "" {
			return
		}
	}
}

// run defines the macro.
func (m *macro) run(_ *state, sc *scope) { sc.vars[m.name] = m }

// run runs the body once for each element of the list for which the filter holds, or otherwise if there is none.
func (f forLoop) run(s *state, sc *scope) {
	line := s.line
	all := s.items(s.value(f.list, sc))
	// bind returns a scope in which the loop's variables have the parts of element v.
	bind := func(v any) *scope {
		s.line = line
		s.spend(len(f.names), elementWork)
		in := s.inner(sc)
		if len(f.names) == 1 {
			in.vars[f.names[0]] = v
			return in
		}
		parts := s.items(v)
		if len(parts) != len(f.names) {
			s.fail("%d values for %d names", len(parts), len(f.names))
		}
		for i, n := range f.names {
			in.vars[n] = parts[i]
		}
		return in
	}
	if f.filter != nil {
		var kept []any
		for _, v := range all {
			if truth(s.value(f.filter, bind(v))) {
				kept = append(kept, v)
			}
		}
		all = kept
	}
	if len(all) == 0 {
		runAll(s, sc, f.otherwise)
		return
	}
	for i, v := range all {
		in := bind(v)
		in.vars["loop"] = loop{all, i}
		runAll(s, in, f.body)
		done := s.jump == "break"
		if s.jump = ""; done {
			return
		}
	}
}

// loop is the variable of that name in a loop: the list and the index of the current element.
type loop struct {
	all []any
	i   int
}

// field returns a field of the variable loop, such as loop.first.
func (l loop) field(name string) any {
	n := len(l.all)
	fields := map[string]any{
		"index": l.i + 1, "index0": l.i, "revindex": n - l.i, "revindex0": n - 1 - l.i, "first": l.i == 0, "last": l.i == n-1,
		"length": n, "previtem": at(l.all, l.i-1), "nextitem": at(l.all, l.i+1),
	}
	if v, ok := fields[name]; ok {
		return v
	}
	return undefined{name}
}

// at returns element i of a list, or undefined if there is none.
func at(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return undefined{"an element beyond the list"}
	}
	return list[i]
}

// assign sets a variable, or a field of a namespace if field is not "".
func (s *state) assign(sc *scope, name, field string, v any) {
	if field == "" {
		sc.vars[name] = v
		return
	}
	space, ok := s.lookUp(sc, name).(*namespace)
	if !ok {
		s.fail("%s is no namespace", name)
	}
	space.set(field, v)
}

// namespace is a mapping whose fields may be assigned from within loops.
type namespace struct{ *dict }

// Expressions with several parts.
type (
	slice struct { // of[start:end:step]
		of    expression
		parts [3]expression // start, end and step, or nil
	}
	call struct {
		f       expression
		of, key expression // if f is a field of a value: that value and the field's name; else nil
		args    arguments
	}
)

func constant(v any) expression { return func(*state, *scope) any { return v } }

func binary(op string, a, b expression) expression {
	return func(s *state, sc *scope) any { return s.operate(op, s.value(a, sc), s.value(b, sc)) }
}

// logic is "a and b" if and is set, and otherwise "a or b". As in Python, its value is that of a or that of b.
func logic(and bool, a, b expression) expression {
	return func(s *state, sc *scope) any {
		if v := s.value(a, sc); truth(v) != and {
			return v
		}
		return s.value(b, sc)
	}
}

func listOf(list []expression) expression {
	return func(s *state, sc *scope) any {
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = s.value(e, sc)
		}
		return out
	}
}

func dictOf(entries [][2]expression) expression {
	return func(s *state, sc *scope) any {
		out := newDict()
		for _, kv := range entries {
			s.spend(1, entryWork)
			out.set(s.key(s.value(kv[0], sc)), s.value(kv[1], sc))
		}
		return out
	}
}

func (sl slice) value(s *state, sc *scope) any {
	of := s.value(sl.of, sc)
	if text, ok := of.(string); ok {
		s.spend(len(text), 8) // characters take four bytes each
		return string(sliced(s, sl, sc, []rune(text)))
	}
	return sliced(s, sl, sc, s.items(of))
}

// sliced takes a slice of a list, as Python does.
func sliced[T any](s *state, sl slice, sc *scope, list []T) []T {
	bound := func(e expression) (int, bool) {
		if e == nil {
			return 0, false
		}
		v := s.value(e, sc)
		n, ok := v.(int)
		if !ok && v != nil {
			s.fail("a slice by %s", brief(v))
		}
		return n, ok
	}
	step, ok := bound(sl.parts[2])
	if !ok {
		step = 1
	}
	if step == 0 {
		s.fail("a slice by steps of 0")
	}
	n := len(list)
	from, to, least, most := 0, n, 0, n
	if step < 0 {
		from, to, least, most = n-1, -1, -1, n-1
	}
	end := func(e expression, def int) int {
		v, ok := bound(e)
		if !ok {
			return def
		}
		if v < 0 {
			v += n
		}
		return min(max(v, least), most)
	}
	from, to = end(sl.parts[0], from), end(sl.parts[1], to)
	s.spend(n, stepWork)
	out := []T{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, list[i])
		if step > n || step < -n {
			break
		}
	}
	return out
}

// values evaluates the arguments of a call.
func (a arguments) values(s *state, sc *scope) (list []any, named map[string]any) {
	for _, e := range a.list {
		list = append(list, s.value(e, sc))
	}
	named = map[string]any{}
	for _, n := range a.order {
		s.spend(1, entryWork)
		named[n] = s.value(a.named[n], sc)
	}
	return list, named
}

// value calls a method, a function or a macro. A field of a mapping, if there is one, is preferred to a method of the same name.
func (c call) value(s *state, sc *scope) any {
	list, named := c.args.values(s, sc)
	if c.of != nil { // f is a field or a method
		of, key := s.value(c.of, sc), s.show(s.value(c.key, sc))
		if _, own := s.get(of, key).(undefined); own {
			return s.method(of, key, list, named)
		}
	}
	switch f := s.value(c.f, sc).(type) {
	case function:
		return f(s, list, named)
	case *macro:
		return f.call(s, list, named)
	case undefined:
		s.fail("the function %q is not understood", f.what)
	default:
		s.fail("%s is no function", brief(f))
	}
	return nil
}

// call returns the output of the macro's body. Its arguments are the only variables that it sees besides the global ones.
func (m *macro) call(s *state, list []any, named map[string]any) any {
	if s.calls++; s.calls > maxCalls {
		s.fail("macros call each other deeper than %d", maxCalls)
	}
	line := s.line
	defer func() { s.calls, s.line = s.calls-1, line }()
	sc := s.inner(s.globals)
	s.spend(len(m.params), elementWork)
	if len(list) > len(m.params) {
		s.fail("%d arguments for %s, which takes %d", len(list), m.name, len(m.params))
	}
	named = maps.Clone(named)
	for i, p := range m.params {
		v, ok := named[p]
		delete(named, p)
		switch {
		case i < len(list):
			v = list[i]
		case ok:
		case m.defaults[i] != nil:
			v = s.value(m.defaults[i], sc)
		default:
			v = undefined{p}
		}
		sc.vars[p] = v
	}
	for n := range named {
		s.fail("%s takes no argument %q", m.name, n)
	}
	return s.captured(func() { runAll(s, sc, m.body) })
}
