package chat

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/prove-model/prove-model/internal/refuse"
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

// token is a token of a template. The value of a quoted string is without its quotes and escapes.
type token struct {
	kind  kind
	value string
	line  int
}

// fail refuses a template, or a conversation for it, because of the given line. Exported functions return this as an error.
func fail(line int, format string, args ...any) {
	refuse.With("line %d: %s", line, fmt.Sprintf(format, args...))
}

// words matches a token within a tag.
var words = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z_0-9]*)|([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|(//|\*\*|==|!=|<=|>=|[-+*/%~<>=(),.:|\[\]{}]))`)
})

// tags matches what opens a tag.
var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[{%#]`) })

// lexer cuts a template into tokens.
type lexer struct {
	rest string // what is not read yet
	line int
	out  []token
	// trim says that the last tag removes the white space at the front of the text behind it,
	// and newline that it removes one newline there.
	trim, newline bool
}

const whiteSpace = " \t\n\v\f"

// lex cuts a template into tokens.
func lex(s string) []token {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	l := lexer{rest: strings.TrimSuffix(s, "\n"), line: 1}
	for len(l.rest) > 0 {
		tag := l.text()
		l.trim, l.newline = false, false
		switch tag {
		case "{#":
			l.comment()
		case "{{":
			l.tag(tag, openOutput, closeOutput, "}}")
		case "{%":
			l.tag(tag, openBlock, closeBlock, "%}")
		}
	}
	l.add(endOfFile, "")
	return l.out
}

func (l *lexer) add(k kind, v string) { l.out = append(l.out, token{k, v, l.line}) }

// skip moves over n bytes.
func (l *lexer) skip(n int) {
	l.line += strings.Count(l.rest[:n], "\n")
	l.rest = l.rest[n:]
}

// text reads the text up to the next tag and the mark that opens the tag, with its "-" or "+". It returns
// the mark's first two characters, or "" at the end of the template.
func (l *lexer) text() (tag string) {
	at := len(l.rest)
	if m := tags().FindStringIndex(l.rest); m != nil {
		at, tag = m[0], l.rest[m[0]:m[1]]
	}
	before := l.rest[:at]
	shown := before
	switch {
	case l.trim:
		shown = strings.TrimLeft(shown, whiteSpace)
	case l.newline:
		shown = strings.TrimPrefix(shown, "\n")
	}
	opening := len(tag)
	switch after := l.rest[at+opening:]; {
	case tag == "":
	case strings.HasPrefix(after, "-"):
		shown = strings.TrimRight(shown, whiteSpace)
		opening++
	case strings.HasPrefix(after, "+"):
		opening++
	case tag != "{{":
		// White space before a tag that is the first on its line is removed. The line begins at the start of the template, or where a
		// newline was removed.
		bare := strings.TrimRight(shown, " \t")
		if strings.HasSuffix(bare, "\n") || bare == "" && (len(l.out) == 0 && before == shown || l.newline && !l.trim && before != shown) {
			shown = bare
		}
	}
	if shown != "" {
		l.add(text, shown)
	}
	l.skip(at + opening)
	return tag
}

// comment reads a comment whose opening mark has been read.
func (l *lexer) comment() {
	end := strings.Index(l.rest, "#}")
	if end < 0 {
		fail(l.line, "a comment does not end")
	}
	l.trim, l.newline = end > 0 && l.rest[end-1] == '-', true
	l.skip(end)
	l.rest = l.rest[2:]
}

// tag reads a tag whose opening mark has been read, up to the mark that closes it. A mark
// inside brackets does not close it.
func (l *lexer) tag(tag string, open, close kind, mark string) {
	l.add(open, tag)
	for depth := 0; ; {
		l.skip(len(l.rest) - len(strings.TrimLeft(l.rest, whiteSpace)))
		if strings.HasPrefix(l.rest, "-"+mark) {
			l.trim, l.rest = true, l.rest[1:]
		} else if strings.HasPrefix(l.rest, "+"+mark) {
			mark = "+" + mark
		}
		if depth == 0 && strings.HasPrefix(l.rest, mark) {
			l.rest = l.rest[len(mark):]
			l.newline = mark == "%}"
			l.add(close, mark)
			return
		}
		depth += l.word()
	}
}

// word reads a token within a tag. It returns 1 for an opening bracket, −1 for a closing one, and 0
// for other tokens.
func (l *lexer) word() (depth int) {
	m := words().FindStringSubmatch(l.rest)
	switch {
	case l.rest == "":
		fail(l.line, "a tag does not end")
	case m == nil:
		fail(l.line, "%q is not understood", l.rest[:1])
	case m[1] != "":
		l.add(name, m[1])
	case m[2] != "":
		l.add(number, m[2])
	case m[3] != "":
		l.add(quoted, unquote(m[3]))
	default:
		l.add(operator, m[4])
		if strings.Contains("{([", m[4]) {
			depth = 1
		} else if strings.Contains("})]", m[4]) {
			depth = -1
		}
	}
	l.skip(len(m[0]))
	return depth
}

// escapes are the escape sequences of strings and what they stand for; escaped matches any backslash with a character.
var (
	escapes = map[string]string{`\n`: "\n", `\t`: "\t", `\r`: "\r", `\\`: "\\", `\'`: "'", `\"`: `"`, "\\\n": ""}
	escaped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\[\s\S]`) })
)

// unquote returns the text of a string that is given with its quotes.
func unquote(s string) string {
	return escaped().ReplaceAllStringFunc(s[1:len(s)-1], func(escape string) string {
		to, ok := escapes[escape]
		if !ok {
			refuse.With("the escape %s in a string is not understood", escape)
		}
		return to
	})
}
