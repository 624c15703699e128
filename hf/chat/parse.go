package chat

import (
	"slices"
	"strconv"
	"strings"
)

// The tree of a template: statements write to the output, expressions have values.
type (
	statement  func(s *state, sc *scope)
	expression func(s *state, sc *scope) any
)

// maxDepth is the deepest nesting of statements and expressions in a template.
const maxDepth = 200

// parser reads tokens into a tree.
type parser struct {
	tokens []token
	at     int // index of the next token
	depth  int // current nesting
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endOfFile {
		p.at++
	}
	return t
}

// is says whether the next token is one of these operators or names.
func (p *parser) is(values ...string) bool {
	t := p.peek()
	return (t.kind == operator || t.kind == name) && slices.Contains(values, t.value)
}

// accept takes the next token if it is that operator or name.
func (p *parser) accept(value string) bool {
	if !p.is(value) {
		return false
	}
	p.next()
	return true
}

// expect reads the given operator or name, and fails for anything else.
func (p *parser) expect(value string) {
	if t := p.next(); (t.kind != operator && t.kind != name) || t.value != value {
		fail(t.line, "%q is found where %q is expected", t.value, value)
	}
}

// close reads the end of a tag.
func (p *parser) close(k kind) {
	if t := p.next(); t.kind != k {
		fail(t.line, "%q is found where the tag should end", t.value)
	}
}

func (p *parser) name() string {
	t := p.next()
	if t.kind != name {
		fail(t.line, "%q is found where a name is expected", t.value)
	}
	return t.value
}

// deeper counts a level of nesting, which ends when the returned function is called.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		fail(p.peek().line, "it is nested deeper than %d", maxDepth)
	}
	return func() { p.depth-- }
}

// body reads statements up to a tag that begins with one of ends. It reads that
// tag's opening and first word too, and returns the word.
func (p *parser) body(ends ...string) (list []located, end string) {
	defer p.deeper()()
	for {
		t := p.next()
		switch t.kind {
		case endOfFile:
			if len(ends) > 0 {
				fail(t.line, "the template ends where %q is expected", ends[len(ends)-1])
			}
			return list, ""
		case text:
			list = append(list, located{func(s *state, _ *scope) { s.write(t.value) }, t.line})
		case openOutput:
			e := p.expression()
			p.close(closeOutput)
			list = append(list, located{func(s *state, sc *scope) { s.write(s.show(s.value(e, sc))) }, t.line})
		case openBlock:
			if p.is(ends...) {
				return list, p.name()
			}
			list = append(list, located{p.statement(), t.line})
		default:
			fail(t.line, "%q is not expected", t.value)
		}
	}
}

// statement reads a statement whose tag has been opened.
func (p *parser) statement() statement {
	t := p.next()
	switch t.value {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.setStatement()
	case "macro":
		return p.macroStatement()
	case "break", "continue":
		p.close(closeBlock)
		return func(s *state, _ *scope) { s.jump = t.value }
	case "generation": // marks, for training, the text that the model writes
		p.close(closeBlock)
		list, _ := p.body("endgeneration")
		p.close(closeBlock)
		return func(s *state, sc *scope) { runAll(s, sc, list) }
	}
	fail(t.line, "the statement %q is not understood", t.value)
	return nil
}

// The following functions read the rest of a statement behind its first word, up to the tag that ends the statement.

func (p *parser) ifStatement() statement {
	var conditions []expression
	var bodies [][]located // one for each condition, and one more if there is an else
	for end := "elif"; end == "elif"; {
		conditions = append(conditions, p.expression())
		p.close(closeBlock)
		var body []located
		body, end = p.body("elif", "else", "endif")
		if bodies = append(bodies, body); end == "else" {
			p.close(closeBlock)
			body, _ = p.body("endif")
			bodies = append(bodies, body)
		}
	}
	p.close(closeBlock)
	return func(s *state, sc *scope) {
		for i, body := range bodies {
			if i == len(conditions) || truth(s.value(conditions[i], sc)) {
				runAll(s, sc, body)
				return
			}
		}
	}
}

func (p *parser) forStatement() statement {
	s := forLoop{names: []string{p.name()}}
	for p.accept(",") {
		s.names = append(s.names, p.name())
	}
	p.expect("in")
	s.list = p.or() // not p.expression, which would read an "if" that filters here
	if p.accept("if") {
		s.filter = p.expression()
	}
	p.close(closeBlock)
	var end string
	if s.body, end = p.body("else", "endfor"); end == "else" {
		p.close(closeBlock)
		s.otherwise, _ = p.body("endfor")
	}
	p.close(closeBlock)
	return s.run
}

func (p *parser) setStatement() statement {
	name, field := p.name(), ""
	if p.accept(".") {
		field = p.name()
	}
	if p.accept("=") {
		to := p.expression()
		p.close(closeBlock)
		return func(s *state, sc *scope) { s.assign(sc, name, field, s.value(to, sc)) }
	}
	p.close(closeBlock)
	body, _ := p.body("endset")
	p.close(closeBlock)
	return func(s *state, sc *scope) { s.assign(sc, name, field, s.captured(func() { runAll(s, sc, body) })) }
}

func (p *parser) macroStatement() statement {
	m := &macro{name: p.name()}
	p.expect("(")
	p.listUntil(")", func() {
		m.params = append(m.params, p.name())
		var def expression
		if p.accept("=") {
			def = p.expression()
		}
		m.defaults = append(m.defaults, def)
	})
	p.close(closeBlock)
	m.body, _ = p.body("endmacro")
	p.close(closeBlock)
	return m.run
}

// expression reads an expression, such as "a if c else b".
func (p *parser) expression() expression {
	defer p.deeper()()
	e := p.or()
	for p.accept("if") {
		yes, c, no := e, p.or(), constant(undefined{"the value of an if without else"})
		if p.accept("else") {
			no = p.expression()
		}
		e = func(s *state, sc *scope) any {
			if truth(s.value(c, sc)) {
				return s.value(yes, sc)
			}
			return s.value(no, sc)
		}
	}
	return e
}

// The following functions read expressions of increasing precedence: "or", "and", "not", and comparisons.

func (p *parser) or() expression {
	e := p.and()
	for p.accept("or") {
		e = logic(false, e, p.and())
	}
	return e
}

func (p *parser) and() expression {
	e := p.not()
	for p.accept("and") {
		e = logic(true, e, p.not())
	}
	return e
}

func (p *parser) not() expression {
	if p.accept("not") {
		defer p.deeper()()
		e := p.not()
		return func(s *state, sc *scope) any { return !truth(s.value(e, sc)) }
	}
	return p.comparison()
}

// comparison reads values with comparisons between them. As in Python, a < b < c is a < b and b < c.
func (p *parser) comparison() expression {
	first := p.operated(0)
	var all expression
	for {
		op := ""
		switch {
		case p.is("==", "!=", "<", "<=", ">", ">=", "in"):
			op = p.next().value
		case p.is("not") && p.tokens[p.at+1].value == "in":
			p.next()
			p.next()
			op = "not in"
		default:
			if all == nil {
				return first
			}
			return all
		}
		second := p.operated(0)
		c := binary(op, first, second)
		if all != nil {
			c = logic(true, all, c)
		}
		all, first = c, second
	}
}

// operators are the arithmetic operators by increasing precedence. All group to the left.
var operators = [][]string{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}}

// operated reads values with operators of this level or higher ones between them.
func (p *parser) operated(level int) expression {
	if level == len(operators) {
		return p.unary(true)
	}
	e := p.operated(level + 1)
	for p.peek().kind == operator && p.is(operators[level]...) {
		e = binary(p.next().value, e, p.operated(level+1))
	}
	return e
}

// unary reads a value with its sign, and, if filters is set, the filters and tests behind it. These
// apply to the value with its sign.
func (p *parser) unary(filters bool) expression {
	defer p.deeper()()
	var e expression
	switch {
	case p.accept("-"):
		e = binary("-", constant(0), p.unary(false))
	case p.accept("+"):
		e = p.unary(false)
	default:
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filtered(e)
	}
	return e
}

// filtered reads filters ("| name(…)") and tests ("is name …") after a value e.
func (p *parser) filtered(e expression) expression {
	for {
		line, of, args := p.peek().line, e, arguments{}
		switch {
		case p.accept("|"):
			name := p.name()
			f := filters[name]
			if f == nil {
				fail(line, "the filter %q is not understood", name)
			}
			if p.accept("(") {
				args = p.arguments()
			}
			e = p.postfix(func(s *state, sc *scope) any {
				list, named := args.values(s, sc)
				return f(s, s.value(of, sc), list, named)
			})
		case p.accept("is"):
			negated, called := p.accept("not"), p.name()
			holds := tests[called]
			if holds == nil {
				fail(line, "the test %q is not understood", called)
			}
			switch k := p.peek(); {
			case p.accept("("):
				args = p.arguments()
			case k.kind == quoted || k.kind == number || k.kind == name && !slices.Contains([]string{"and", "or", "else", "if", "is", "not", "in"}, k.value):
				args = arguments{list: []expression{p.postfix(p.primary())}}
			}
			e = func(s *state, sc *scope) any {
				list, _ := args.values(s, sc)
				return holds(s, s.value(of, sc), list) != negated
			}
		default:
			return e
		}
	}
}

// postfix reads fields, indices, slices and calls after a value e.
func (p *parser) postfix(e expression) expression {
	var of, key expression // if e is a field of a value: that value and the field's name; else of is nil
	for {
		switch {
		case p.accept("."):
			of, key = e, constant(p.name())
		case p.accept("["):
			var sl slice
			if key, sl.parts = p.subscript(); key == nil {
				sl.of, of = e, nil
				e = sl.value
				continue
			}
			of = e
		case p.accept("("):
			e, of = call{e, of, key, p.arguments()}.value, nil
			continue
		default:
			return e
		}
		within, by := of, key
		e = func(s *state, sc *scope) any { return s.get(s.value(within, sc), s.value(by, sc)) }
	}
}

// subscript reads what follows "[": an index, or the parts of a slice, for which index is nil.
func (p *parser) subscript() (index expression, slice [3]expression) {
	var parts [3]expression
	n := 0
	for {
		if !p.is(":", "]") {
			parts[n] = p.expression()
		}
		if p.accept("]") {
			break
		}
		p.expect(":")
		if n++; n == 3 {
			fail(p.peek().line, "a slice of more than three parts")
		}
	}
	if n == 0 {
		if parts[0] == nil {
			fail(p.peek().line, "an index is missing")
		}
		return parts[0], parts
	}
	return nil, parts
}

// arguments are the arguments of a call.
type arguments struct {
	list  []expression
	named map[string]expression
	order []string // the names, in the order of the call
}

func (p *parser) arguments() arguments {
	a := arguments{named: map[string]expression{}}
	p.listUntil(")", func() {
		if p.peek().kind == name && p.tokens[p.at+1].kind == operator && p.tokens[p.at+1].value == "=" {
			n := p.name()
			p.next()
			a.named[n] = p.expression()
			a.order = append(a.order, n)
		} else {
			a.list = append(a.list, p.expression())
		}
	})
	return a
}

// listUntil reads elements up to and including the bracket that closes the list. Commas separate
// them, and one may follow the last.
func (p *parser) listUntil(bracket string, element func()) {
	for !p.accept(bracket) {
		element()
		if !p.is(bracket) {
			p.expect(",")
		}
	}
}

// primary reads a literal, a variable, or an expression in brackets.
func (p *parser) primary() expression {
	t := p.next()
	switch t.kind {
	case quoted:
		all := []string{t.value}
		for p.peek().kind == quoted { // adjacent strings are joined, as in Python
			all = append(all, p.next().value)
		}
		return constant(strings.Join(all, ""))
	case number:
		if n, err := strconv.Atoi(t.value); err == nil {
			return constant(n)
		}
		f, err := strconv.ParseFloat(t.value, 64)
		if err != nil {
			fail(t.line, "%s is no number", t.value)
		}
		return constant(f)
	case name:
		switch t.value {
		case "true", "True":
			return constant(true)
		case "false", "False":
			return constant(false)
		case "none", "None":
			return constant(nil)
		}
		return func(s *state, sc *scope) any { return s.lookUp(sc, t.value) }
	case operator:
		if e := p.bracketed(t.value); e != nil {
			return e
		}
	}
	fail(t.line, "%q is found where a value is expected", t.value)
	return nil
}

// bracketed reads the rest of a parenthesis, tuple, list or mapping behind its opening bracket. It returns nil if the operator is no such
// bracket.
func (p *parser) bracketed(bracket string) expression {
	switch bracket {
	case "(":
		e := p.expression()
		if !p.is(",") {
			p.expect(")")
			return e
		}
		list := []expression{e} // a tuple
		for p.accept(",") {
			if !p.is(")") {
				list = append(list, p.expression())
			}
		}
		p.expect(")")
		return listOf(list)
	case "[":
		var list []expression
		p.listUntil("]", func() { list = append(list, p.expression()) })
		return listOf(list)
	case "{":
		var d [][2]expression
		p.listUntil("}", func() {
			k := p.expression()
			p.expect(":")
			d = append(d, [2]expression{k, p.expression()})
		})
		return dictOf(d)
	}
	return nil
}
