package vocabulary

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Constant is an array of strings.
type Constant struct {
	Shape   []int    `json:"shape"`
	Strings []string `json:"strings"`
}

func (o *Constant) check() {
	refuse.If(size(o.Shape) != len(o.Strings) || len(o.Shape) > maxRank,
		"%d strings for shape %v", len(o.Strings), o.Shape)
}

func (o *Constant) shapes([][]Dim) [][]Dim {
	return [][]Dim{known(o.Shape)}
}

func (o *Constant) run(_ []Array, shape []int, _ *budget) []Array {
	return []Array{{Shape: shape, Strings: append([]string{}, o.Strings...)}}
}

// Normalise is StringNormalizer: it leaves out stop words, and changes the case of the rest.
type Normalise struct {
	Case      string   `json:"case"`                // LOWER, UPPER or NONE
	Sensitive bool     `json:"sensitive,omitempty"` // stop words are compared with their case
	Stop      []string `json:"stop,omitempty"`
}

// cased changes the case of every character separately, so that the number of characters
// stays.
func cased(s, to string) string {
	switch to {
	case "LOWER":
		return strings.Map(unicode.ToLower, s)
	case "UPPER":
		return strings.Map(unicode.ToUpper, s)
	}
	return s
}

func (o *Normalise) check() {
	refuse.If(!slices.Contains([]string{"LOWER", "UPPER", "NONE"}, o.Case), "case %q", o.Case)
}

func (o *Normalise) shapes(in [][]Dim) [][]Dim {
	n := len(in[0])
	refuse.If(n != 1 && (n != 2 || in[0][0].N != 1), "it takes shape [n] or [1, n], not %v", lengths(in[0]))
	out := sameShapes(in)
	if len(o.Stop) > 0 {
		out[0][len(out[0])-1] = Dim{N: Unknown}
	}
	return out
}

func (o *Normalise) run(in []Array, shape []int, b *budget) []Array {
	fold := func(s string) string {
		if o.Sensitive {
			return s
		}
		return cased(s, "LOWER")
	}
	stop := map[string]bool{}
	for _, s := range o.Stop {
		stop[fold(s)] = true
	}
	kept := []string{}
	for _, s := range in[0].Strings {
		if !stop[fold(s)] {
			s = cased(s, o.Case)
			take(&b.bytes, len(s))
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 && len(in[0].Strings) > 0 { // ONNX prescribes one empty string
		kept = []string{""}
	}
	shape[len(shape)-1] = len(kept)
	return []Array{{Shape: shape, Strings: kept}}
}

// Tokenise is com.microsoft.Tokenizer: it cuts every string into tokens, along a new last axis. The axis is as long as
// the string with the most tokens needs; others are filled up with Pad.
type Tokenise struct {
	// Expression is a regular expression for tokens. If it is empty, Separators has regular expressions for what
	// is between tokens; a single empty separator makes every character a token.
	Expression string   `json:"expression,omitempty"`
	Separators []string `json:"separators,omitempty"`
	Least      int      `json:"least"`          // shorter tokens, counted in characters, are dropped
	Mark       bool     `json:"mark,omitempty"` // add tokens for the beginning and end of each string
	Pad        string   `json:"pad"`
}

// compiled compiles a regular expression with leftmost-longest matching. It refuses one
// that matches the empty string.
func compiled(expression string) *regexp.Regexp {
	r := must.Get(regexp.Compile(expression))
	r.Longest()
	refuse.If(r.MatchString(""), "the expression %q matches no characters", expression)
	return r
}

// characters says whether every character is a token.
func (o *Tokenise) characters() bool { return slices.Equal(o.Separators, []string{""}) }

// expressions compiles Expression or Separators; nil if every character is a token.
func (o *Tokenise) expressions() (list []*regexp.Regexp) {
	if o.characters() {
		return nil
	}
	of := o.Separators
	if o.Expression != "" {
		of = []string{o.Expression}
	}
	for _, e := range of {
		list = append(list, compiled(e))
	}
	return list
}

func (o *Tokenise) check() {
	refuse.If((o.Expression == "") == (len(o.Separators) == 0) || o.Least < 1 || len(o.Separators) > 1<<8,
		"it has an expression for tokens or separators, and tokens of at least one character")
	o.expressions()
}

func (o *Tokenise) shapes(in [][]Dim) [][]Dim {
	n := len(in[0])
	refuse.If(n < 1 || n > 2, "it takes shape [n] or [m, n], not %v", lengths(in[0]))
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: Unknown})}
}

// Tokens that mark the beginning and the end of a string.
const textBegins, textEnds = "\x02", "\x03"

func (o *Tokenise) run(in []Array, shape []int, b *budget) []Array {
	expressions := o.expressions()
	rows, longest := make([][]string, len(in[0].Strings)), 0
	for i, s := range in[0].Strings {
		rows[i] = o.tokens(s, expressions)
		if o.Mark {
			rows[i] = append(append([]string{textBegins}, rows[i]...), textEnds)
		}
		take(&b.strings, len(rows[i]))
		longest = max(longest, len(rows[i]))
	}
	shape[len(shape)-1] = longest
	out := b.ofStrings(shape)
	for i, row := range rows {
		to := out.Strings[i*longest : (i+1)*longest]
		for j := copy(to, row); j < longest; j++ {
			to[j] = o.Pad
		}
	}
	return []Array{out}
}

// tokens cuts a string into tokens.
func (o *Tokenise) tokens(s string, expressions []*regexp.Regexp) []string {
	var parts []string
	switch {
	case o.characters():
		for _, r := range s {
			parts = append(parts, string(r))
		}
	case o.Expression != "":
		parts = expressions[0].FindAllString(s, -1)
	default:
		parts = []string{s}
		for _, r := range expressions {
			var finer []string
			for _, p := range parts {
				finer = append(finer, r.Split(p, -1)...)
			}
			parts = finer
		}
	}
	return slices.DeleteFunc(parts, func(t string) bool { return utf8.RuneCountInString(t) < o.Least })
}

// Join is StringConcat: it appends the strings of the second operand to those of the first.
type Join struct{}

func (o *Join) shapes(in [][]Dim) [][]Dim { return broadcast(in) }
func (o *Join) run(in []Array, shape []int, b *budget) []Array {
	out := b.ofStrings(shape)
	eachPair(in, shape, b, func(i int, x, y string) {
		take(&b.bytes, len(x)+len(y))
		out.Strings[i] = x + y
	})
	return []Array{out}
}

// Split is StringSplit. Its results are the parts of every string along a new last axis, filled up with empty strings,
// and the number of parts of every string. An empty Delimiter means white space. Most bounds the number of splits of a
// string; −1 means no bound.
type Split struct {
	Delimiter string `json:"delimiter,omitempty"`
	Most      int    `json:"most"`
}

func (o *Split) check() {
	refuse.If(o.Most < -1, "it splits %d times", o.Most)
}

func (o *Split) shapes(in [][]Dim) [][]Dim {
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: Unknown}), slices.Clone(in[0])}
}

// parts returns the parts of a string.
func (o *Split) parts(s string) []string {
	if o.Delimiter != "" {
		if s == "" {
			return nil
		}
		n := -1
		if o.Most >= 0 {
			n = o.Most + 1
		}
		return strings.SplitN(s, o.Delimiter, n)
	}
	if o.Most < 0 {
		return strings.Fields(s)
	}
	var parts []string
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	for len(parts) < o.Most && s != "" {
		at := strings.IndexFunc(s, unicode.IsSpace)
		if at < 0 {
			break
		}
		parts, s = append(parts, s[:at]), strings.TrimLeftFunc(s[at:], unicode.IsSpace)
	}
	if s = strings.TrimRightFunc(s, unicode.IsSpace); s != "" {
		parts = append(parts, s)
	}
	return parts
}

func (o *Split) run(in []Array, shape []int, b *budget) []Array {
	a, longest := in[0], 0
	rows, counts := make([][]string, len(a.Strings)), b.ofNumbers(a.Shape)
	for i, s := range a.Strings {
		rows[i] = o.parts(s)
		take(&b.strings, len(rows[i]))
		counts.Numbers[i], longest = float64(len(rows[i])), max(longest, len(rows[i]))
	}
	shape[len(shape)-1] = longest
	out := b.ofStrings(shape)
	for i, row := range rows {
		copy(out.Strings[i*longest:], row)
	}
	return []Array{out, counts}
}

// Match is RegexFullMatch: 1 where the whole string matches.
type Match struct {
	Expression string `json:"expression"`
}

func (o *Match) compiled() *regexp.Regexp {
	return must.Get(regexp.Compile(`\A(?:` + o.Expression + `)\z`))
}

func (o *Match) check() { o.compiled() }

func (o *Match) shapes(in [][]Dim) [][]Dim { return sameShapes(in) }
func (o *Match) run(in []Array, shape []int, b *budget) []Array {
	r := o.compiled()
	return b.numbersOf(in[0], func(s string) float64 {
		if r.MatchString(s) {
			return 1
		}
		return 0
	})
}

// Equal is 1 where the strings of two operands are the same.
type Equal struct{}

func (o *Equal) shapes(in [][]Dim) [][]Dim { return broadcast(in) }
func (o *Equal) run(in []Array, shape []int, b *budget) []Array {
	out := b.ofNumbers(shape)
	eachPair(in, shape, b, func(i int, x, y string) {
		if x == y {
			out.Numbers[i] = 1
		}
	})
	return []Array{out}
}
