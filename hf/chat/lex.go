package chat

import (
	"fmt"
	"regexp"
	"strings"
)

// kind is the kind of a token of a template.
type kind int

const (
	endOfFile kind = iota
	text           // outside of tags
	openOutput
	closeOutput
	openBlock
	closeBlock
	name
	number
	quoted
	operator
)

// token is a token of a template; its value is that of a string without quotes.
type token struct {
	kind  kind
	value string
	line  int
}

// failure is an error of a template, or of a conversation for it. It is the value
// of a panic that exported functions recover (catch).
type failure struct{ error }

func fail(line int, format string, args ...any) {
	panic(failure{fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))})
}

// catch turns a failure into an error.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}

// words matches a token within a tag.
var words = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z_0-9]*)|([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|(//|\*\*|==|!=|<=|>=|[-+*/%~<>=(),.:|\[\]{}]))`)

// lex cuts a template into tokens.
func lex(s string) []token {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	s = strings.TrimSuffix(s, "\n")
	var out []token
	line := 1
	add := func(k kind, v string) { out = append(out, token{k, v, line}) }
	trim, newline := false, false // what is trimmed of the text that follows
	for len(s) > 0 {
		at, tag := nextTag(s)
		before := s[:at]
		shown := before
		switch {
		case trim:
			shown = strings.TrimLeft(shown, " \t\n\v\f")
		case newline:
			shown = strings.TrimPrefix(shown, "\n")
		}
		rest := s[at:]
		if tag != "" {
			rest = rest[2:]
			switch {
			case strings.HasPrefix(rest, "-"):
				shown, rest = strings.TrimRight(shown, " \t\n\v\f"), rest[1:]
			case strings.HasPrefix(rest, "+"):
				rest = rest[1:]
			case tag != "{{":
				// White space before a tag that is the first on its line is
				// removed.
				bare := strings.TrimRight(shown, " \t")
				if strings.HasSuffix(bare, "\n") || bare == "" && startsLine(out, before, shown, newline && !trim) {
					shown = bare
				}
			}
		}
		if shown != "" {
			add(text, shown)
		}
		line += strings.Count(before, "\n")
		trim, newline = false, false
		switch tag {
		case "":
			s = ""
			continue
		case "{#":
			end := strings.Index(rest, "#}")
			if end < 0 {
				fail(line, "a comment does not end")
			}
			line += strings.Count(rest[:end], "\n")
			trim, newline = end > 0 && rest[end-1] == '-', true
			s = rest[end+2:]
			continue
		}
		open, close, mark := openBlock, closeBlock, "%}"
		if tag == "{{" {
			open, close, mark = openOutput, closeOutput, "}}"
		}
		add(open, tag)
		depth := 0
		for {
			space := len(rest) - len(strings.TrimLeft(rest, " \t\n\v\f"))
			line += strings.Count(rest[:space], "\n")
			rest = rest[space:]
			if strings.HasPrefix(rest, "-"+mark) {
				trim, rest = true, rest[1:]
			} else if strings.HasPrefix(rest, "+"+mark) {
				mark = "+" + mark
			}
			if depth == 0 && strings.HasPrefix(rest, mark) {
				rest = rest[len(mark):]
				newline = tag == "{%" && mark == "%}"
				break
			}
			m := words.FindStringSubmatch(rest)
			if m == nil {
				if rest == "" {
					fail(line, "a tag does not end")
				}
				fail(line, "%q is not understood", rest[:1])
			}
			switch {
			case m[1] != "":
				add(name, m[1])
			case m[2] != "":
				add(number, m[2])
			case m[3] != "":
				add(quoted, unquote(m[3]))
				line += strings.Count(m[3], "\n")
			default:
				add(operator, m[4])
				switch m[4] {
				case "{", "(", "[":
					depth++
				case "}", ")", "]":
					depth--
				}
			}
			rest = rest[len(m[0]):]
		}
		add(close, mark)
		s = rest
	}
	add(endOfFile, "")
	return out
}

// startsLine reports whether a tag is the first thing on its line. shown is what is
// left of the text before it; the line begins at the start of the template, or
// where a newline was removed.
func startsLine(out []token, before, shown string, newline bool) bool {
	return len(out) == 0 && before == shown || newline && before != shown
}

// nextTag finds the next tag: where it is, and the two characters that open it.
func nextTag(s string) (at int, tag string) {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' {
			switch s[i+1] {
			case '{', '%', '#':
				return i, s[i : i+2]
			}
		}
	}
	return len(s), ""
}

// unquote reads a string with its quotes.
func unquote(s string) string {
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\\', '\'', '"':
			b.WriteByte(s[i])
		case '\n':
		default:
			panic(failure{fmt.Errorf(`the escape \%c in a string is not understood`, s[i])})
		}
	}
	return b.String()
}
