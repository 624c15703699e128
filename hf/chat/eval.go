package chat

import (
	"fmt"
	"maps"
	"strings"
)

// Values are nil, bool, int, float64, string, []any, *dict, *macro, function or
// undefined.
type (
	undefined struct{ what string }
	function  func(s *state, line int, list []any, named map[string]any) any
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

// Bounds on what a template may do.
const (
	maxSteps  = 1 << 18
	maxOutput = 1 << 24
	maxCalls  = 100
)

// state is a template in the making of a text.
type state struct {
	out     strings.Builder
	globals *scope
	steps   int
	calls   int
	jump    jump // that is on its way out of a loop
}

func (s *state) step() {
	if s.steps++; s.steps > maxSteps {
		panic(failure{fmt.Errorf("the template does not come to an end")})
	}
}

func (s *state) write(text string) {
	if s.out.Len()+len(text) > maxOutput {
		panic(failure{fmt.Errorf("the text is longer than %d bytes", maxOutput)})
	}
	s.out.WriteString(text)
}

// captured returns what f writes.
func (s *state) captured(f func()) string {
	before := s.out
	s.out = strings.Builder{}
	f()
	text := s.out.String()
	s.out = strings.Builder{}
	s.out.WriteString(before.String())
	return text
}

// scope has variables, and those around it.
type scope struct {
	vars   map[string]any
	around *scope
}

func (sc *scope) get(name string) any {
	for ; sc != nil; sc = sc.around {
		if v, ok := sc.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}

func inner(sc *scope) *scope { return &scope{map[string]any{}, sc} }

// Statements.
type (
	literalText string
	output      struct{ e expression }
	block       []statement
	jump        string // "break", "continue", or "" for none
	ifElse      struct {
		conditions []expression
		bodies     [][]statement
		otherwise  []statement
	}
	forLoop struct {
		names           []string
		list, filter    expression
		body, otherwise []statement
		line            int
	}
	assign struct {
		name, field string
		to          expression
		body        []statement
		line        int
	}
	macro struct {
		name   string
		params []string
		usual  []expression
		body   []statement
	}
)

func runAll(s *state, sc *scope, list []statement) {
	for _, st := range list {
		s.step()
		if st.run(s, sc); s.jump != "" {
			return
		}
	}
}

func (t literalText) run(s *state, _ *scope) { s.write(string(t)) }
func (o output) run(s *state, sc *scope)     { s.write(show(o.e.value(s, sc))) }
func (b block) run(s *state, sc *scope)      { runAll(s, sc, b) }
func (j jump) run(s *state, _ *scope)        { s.jump = j }
func (m *macro) run(_ *state, sc *scope)     { sc.vars[m.name] = m }

func (i ifElse) run(s *state, sc *scope) {
	for n, c := range i.conditions {
		if truth(c.value(s, sc)) {
			runAll(s, sc, i.bodies[n])
			return
		}
	}
	runAll(s, sc, i.otherwise)
}

func (f forLoop) run(s *state, sc *scope) {
	all := items(f.list.value(s, sc), f.line)
	bind := func(v any) *scope {
		in := inner(sc)
		if len(f.names) == 1 {
			in.vars[f.names[0]] = v
			return in
		}
		parts := items(v, f.line)
		if len(parts) != len(f.names) {
			fail(f.line, "%d values for %d names", len(parts), len(f.names))
		}
		for i, n := range f.names {
			in.vars[n] = parts[i]
		}
		return in
	}
	if f.filter != nil {
		var kept []any
		for _, v := range all {
			s.step()
			if truth(f.filter.value(s, bind(v))) {
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
		s.step()
		in := bind(v)
		in.vars["loop"] = loop{all, i}
		runAll(s, in, f.body)
		done := s.jump == "break"
		if s.jump = ""; done {
			return
		}
	}
}

// loop is where a loop is in its list.
type loop struct {
	all []any
	i   int
}

// field returns what templates ask of a loop.
func (l loop) field(name string) any {
	n := len(l.all)
	switch name {
	case "index":
		return l.i + 1
	case "index0":
		return l.i
	case "revindex":
		return n - l.i
	case "revindex0":
		return n - 1 - l.i
	case "first":
		return l.i == 0
	case "last":
		return l.i == n-1
	case "length":
		return n
	case "previtem":
		return at(l.all, l.i-1)
	case "nextitem":
		return at(l.all, l.i+1)
	}
	return undefined{name}
}

// at returns a list's element, undefined where there is none.
func at(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return undefined{"an element beyond the list"}
	}
	return list[i]
}

func (a assign) run(s *state, sc *scope) {
	var v any
	if a.to == nil {
		v = s.captured(func() { runAll(s, sc, a.body) })
	} else {
		v = a.to.value(s, sc)
	}
	if a.field == "" {
		sc.vars[a.name] = v
		return
	}
	space, ok := sc.get(a.name).(*namespace)
	if !ok {
		fail(a.line, "%s is no namespace", a.name)
	}
	space.set(a.field, v)
}

// namespace is what may be assigned to from within loops.
type namespace struct{ *dict }

// Expressions.
type (
	constant struct{ v any }
	variable string
	listOf   []expression
	dictOf   [][2]expression
	choice   struct{ condition, yes, no expression }
	logic    struct {
		and  bool
		a, b expression
	}
	negation struct{ e expression }
	binary   struct {
		op   string
		a, b expression
		line int
	}
	field struct {
		of, key expression
		line    int
	}
	slice struct {
		of    expression
		parts [3]expression
		line  int
	}
	call struct {
		f    expression
		args arguments
		line int
	}
	filter struct {
		name string
		of   expression
		args arguments
		line int
	}
	test struct {
		name    string
		negated bool
		of      expression
		args    arguments
		line    int
	}
)

func (c constant) value(*state, *scope) any      { return c.v }
func (v variable) value(_ *state, sc *scope) any { return sc.get(string(v)) }
func (n negation) value(s *state, sc *scope) any { return !truth(n.e.value(s, sc)) }
func (b binary) value(s *state, sc *scope) any {
	return operate(b.op, b.a.value(s, sc), b.b.value(s, sc), b.line)
}
func (f field) value(s *state, sc *scope) any {
	return get(f.of.value(s, sc), f.key.value(s, sc), f.line)
}

func (l listOf) value(s *state, sc *scope) any {
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = e.value(s, sc)
	}
	return out
}

func (d dictOf) value(s *state, sc *scope) any {
	out := newDict()
	for _, kv := range d {
		out.set(show(kv[0].value(s, sc)), kv[1].value(s, sc))
	}
	return out
}

func (c choice) value(s *state, sc *scope) any {
	if truth(c.condition.value(s, sc)) {
		return c.yes.value(s, sc)
	}
	return c.no.value(s, sc)
}

func (l logic) value(s *state, sc *scope) any {
	if v := l.a.value(s, sc); truth(v) != l.and {
		return v
	}
	return l.b.value(s, sc)
}

func (sl slice) value(s *state, sc *scope) any {
	number := func(e expression) (int, bool) {
		if e == nil {
			return 0, false
		}
		v := e.value(s, sc)
		n, ok := v.(int)
		if !ok && v != nil {
			fail(sl.line, "a slice by %s", show(v))
		}
		return n, ok
	}
	of := sl.of.value(s, sc)
	var list []any
	runes, text := of.(string)
	if text {
		for _, r := range runes {
			list = append(list, string(r))
		}
	} else {
		list = items(of, sl.line)
	}
	step, ok := number(sl.parts[2])
	if !ok {
		step = 1
	}
	if step == 0 {
		fail(sl.line, "a slice by steps of 0")
	}
	n := len(list)
	from, to, least, most := 0, n, 0, n
	if step < 0 {
		from, to, least, most = n-1, -1, -1, n-1
	}
	bound := func(e expression, usual int) int {
		v, ok := number(e)
		if !ok {
			return usual
		}
		if v < 0 {
			v += n
		}
		return min(max(v, least), most)
	}
	from, to = bound(sl.parts[0], from), bound(sl.parts[1], to)
	out := []any{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, list[i])
		if step > n || step < -n {
			break
		}
	}
	if text {
		return join(out, "")
	}
	return out
}

// values evaluates arguments.
func (a arguments) values(s *state, sc *scope) (list []any, named map[string]any) {
	for _, e := range a.list {
		list = append(list, e.value(s, sc))
	}
	named = map[string]any{}
	for _, n := range a.order {
		named[n] = a.named[n].value(s, sc)
	}
	return list, named
}

func (c call) value(s *state, sc *scope) any {
	s.step()
	list, named := c.args.values(s, sc)
	if f, ok := c.f.(field); ok { // a method
		of, key := f.of.value(s, sc), show(f.key.value(s, sc))
		if _, own := get(of, key, c.line).(undefined); own {
			return method(of, key, list, named, c.line)
		}
	}
	switch f := c.f.value(s, sc).(type) {
	case function:
		return f(s, c.line, list, named)
	case *macro:
		return f.call(s, c.line, list, named)
	case undefined:
		fail(c.line, "the function %q is not understood", f.what)
	default:
		fail(c.line, "%s is no function", show(f))
	}
	return nil
}

func (m *macro) call(s *state, line int, list []any, named map[string]any) any {
	if s.calls++; s.calls > maxCalls {
		fail(line, "macros call each other deeper than %d", maxCalls)
	}
	defer func() { s.calls-- }()
	sc := inner(s.globals)
	if len(list) > len(m.params) {
		fail(line, "%d arguments for %s, which takes %d", len(list), m.name, len(m.params))
	}
	named = maps.Clone(named)
	for i, p := range m.params {
		v, ok := named[p]
		delete(named, p)
		switch {
		case i < len(list):
			v = list[i]
		case ok:
		case m.usual[i] != nil:
			v = m.usual[i].value(s, sc)
		default:
			v = undefined{p}
		}
		sc.vars[p] = v
	}
	for n := range named {
		fail(line, "%s takes no argument %q", m.name, n)
	}
	return s.captured(func() { runAll(s, sc, m.body) })
}

func (f filter) value(s *state, sc *scope) any {
	s.step()
	list, named := f.args.values(s, sc)
	return filters[f.name](f.of.value(s, sc), list, named, f.line)
}

func (t test) value(s *state, sc *scope) any {
	list, _ := t.args.values(s, sc)
	return tests[t.name](t.of.value(s, sc), list, t.line) != t.negated
}
