package vocabulary

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Constant is an array of strings.
type Constant struct {
	Shape   []int    `json:"shape"`
	Strings []string `json:"strings"`
}

func (o *Constant) check(in, out int) error {
	n, err := size(o.Shape)
	if err != nil || n != len(o.Strings) || len(o.Shape) > maxRank {
		return fmt.Errorf("%d strings for shape %v", len(o.Strings), o.Shape)
	}
	return count(in, out, 0, 1)
}

func (o *Constant) shapes([][]Dim) ([][]Dim, error) {
	return [][]Dim{known(o.Shape)}, nil
}

func (o *Constant) run([]Array, *budget) ([]Array, error) {
	return []Array{{Shape: o.Shape, Strings: append([]string{}, o.Strings...)}}, nil
}

// Normalise is StringNormalizer: it leaves out stop words, and changes the case of the rest.
type Normalise struct {
	Case      string   `json:"case"`                // LOWER, UPPER or NONE
	Sensitive bool     `json:"sensitive,omitempty"` // stop words are compared with their case
	Stop      []string `json:"stop,omitempty"`
}

// cased changes the case of every character by itself.
func cased(s, to string) string {
	switch to {
	case "LOWER":
		return strings.Map(unicode.ToLower, s)
	case "UPPER":
		return strings.Map(unicode.ToUpper, s)
	}
	return s
}

func (o *Normalise) check(in, out int) error {
	if !slices.Contains([]string{"LOWER", "UPPER", "NONE"}, o.Case) {
		return fmt.Errorf("case %q", o.Case)
	}
	return count(in, out, 1, 1)
}

func (o *Normalise) shapes(in [][]Dim) ([][]Dim, error) {
	if n := len(in[0]); n != 1 && (n != 2 || in[0][0].N != 1) {
		return nil, fmt.Errorf("it takes shape [n] or [1, n]")
	}
	out, _ := sameShapes(in)
	if len(o.Stop) > 0 {
		out[0][len(out[0])-1] = Dim{N: Unknown}
	}
	return out, nil
}

func (o *Normalise) run(in []Array, b *budget) ([]Array, error) {
	a := in[0]
	if n := len(a.Shape); n != 1 && (n != 2 || a.Shape[0] != 1) {
		return nil, fmt.Errorf("it takes shape [n] or [1, n], not %v", a.Shape)
	}
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
	for _, s := range a.Strings {
		if !stop[fold(s)] {
			s = cased(s, o.Case)
			if err := take(&b.bytes, len(s)); err != nil {
				return nil, err
			}
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 && len(a.Strings) > 0 { // as ONNX says
		kept = []string{""}
	}
	shape := slices.Clone(a.Shape)
	shape[len(shape)-1] = len(kept)
	return []Array{{Shape: shape, Strings: kept}}, nil
}

// Tokenise is com.microsoft.Tokenizer: it cuts every string into tokens along a new last axis, which is as long as the
// longest needs and filled up with Pad.
type Tokenise struct {
	// Expression matches tokens. Without it separators are between them; one that is empty separates characters.
	Expression string   `json:"expression,omitempty"`
	Separators []string `json:"separators,omitempty"`
	Least      int      `json:"least"` // characters of a token
	Mark       bool     `json:"mark,omitempty"`
	Pad        string   `json:"pad"`
}

// compiled compiles a regular expression, which matches the longest text and never none.
func compiled(expression string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	r.Longest()
	if r.MatchString("") {
		return nil, fmt.Errorf("the expression %q matches no characters", expression)
	}
	return r, nil
}

// characters says that every character is a token.
func (o *Tokenise) characters() bool { return slices.Equal(o.Separators, []string{""}) }

func (o *Tokenise) expressions() (list []*regexp.Regexp, err error) {
	if o.characters() {
		return nil, nil
	}
	of := o.Separators
	if o.Expression != "" {
		of = []string{o.Expression}
	}
	for _, e := range of {
		r, err := compiled(e)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func (o *Tokenise) check(in, out int) error {
	if (o.Expression == "") == (len(o.Separators) == 0) || o.Least < 1 || len(o.Separators) > 1<<8 {
		return fmt.Errorf("it has an expression for tokens or separators, and tokens of at least one character")
	}
	if _, err := o.expressions(); err != nil {
		return err
	}
	return count(in, out, 1, 1)
}

func (o *Tokenise) shapes(in [][]Dim) ([][]Dim, error) {
	if n := len(in[0]); n < 1 || n > 2 {
		return nil, fmt.Errorf("it takes shape [n] or [m, n]")
	}
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: Unknown})}, nil
}

// Marks of the beginning and the end of a text.
const textBegins, textEnds = "\x02", "\x03"

func (o *Tokenise) run(in []Array, b *budget) ([]Array, error) {
	expressions, err := o.expressions()
	if err != nil {
		return nil, err
	}
	a := in[0]
	if n := len(a.Shape); n < 1 || n > 2 {
		return nil, fmt.Errorf("it takes shape [n] or [m, n], not %v", a.Shape)
	}
	rows, longest := make([][]string, len(a.Strings)), 0
	for i, s := range a.Strings {
		rows[i] = o.tokens(s, expressions)
		if o.Mark {
			rows[i] = append(append([]string{textBegins}, rows[i]...), textEnds)
		}
		if err := take(&b.strings, len(rows[i])); err != nil {
			return nil, err
		}
		longest = max(longest, len(rows[i]))
	}
	out, err := b.ofStrings(append(slices.Clone(a.Shape), longest))
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		to := out.Strings[i*longest : (i+1)*longest]
		for j := copy(to, row); j < longest; j++ {
			to[j] = o.Pad
		}
	}
	return []Array{out}, nil
}

// tokens cuts a string.
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

func (o *Join) check(in, out int) error            { return count(in, out, 2, 1) }
func (o *Join) shapes(in [][]Dim) ([][]Dim, error) { return broadcast(in) }
func (o *Join) run(in []Array, b *budget) ([]Array, error) {
	shape, pairs, err := paired(in, b)
	if err != nil {
		return nil, err
	}
	out, err := b.ofStrings(shape)
	if err != nil {
		return nil, err
	}
	for i, p := range pairs {
		x, y := in[0].Strings[p[0]], in[1].Strings[p[1]]
		if err := take(&b.bytes, len(x)+len(y)); err != nil {
			return nil, err
		}
		out.Strings[i] = x + y
	}
	return []Array{out}, nil
}

// Split is StringSplit: the parts of every string along a new last axis, filled up with empty strings, and how many it
// has. Without a delimiter white space is between parts. Most is how often it is split, −1 for everywhere.
type Split struct {
	Delimiter string `json:"delimiter,omitempty"`
	Most      int    `json:"most"`
}

func (o *Split) check(in, out int) error {
	if o.Most < -1 {
		return fmt.Errorf("it splits %d times", o.Most)
	}
	return count(in, out, 1, 2)
}

func (o *Split) shapes(in [][]Dim) ([][]Dim, error) {
	return [][]Dim{append(slices.Clone(in[0]), Dim{N: Unknown}), slices.Clone(in[0])}, nil
}

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

func (o *Split) run(in []Array, b *budget) ([]Array, error) {
	a, longest := in[0], 0
	rows := make([][]string, len(a.Strings))
	counts, err := b.ofNumbers(a.Shape)
	if err != nil {
		return nil, err
	}
	for i, s := range a.Strings {
		rows[i] = o.parts(s)
		if err := take(&b.strings, len(rows[i])); err != nil {
			return nil, err
		}
		counts.Numbers[i], longest = float64(len(rows[i])), max(longest, len(rows[i]))
	}
	out, err := b.ofStrings(append(slices.Clone(a.Shape), longest))
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		copy(out.Strings[i*longest:], row)
	}
	return []Array{out, counts}, nil
}

// Match is RegexFullMatch: 1 where the whole string matches.
type Match struct {
	Expression string `json:"expression"`
}

func (o *Match) compiled() (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + o.Expression + `)\z`)
}

func (o *Match) check(in, out int) error {
	if _, err := o.compiled(); err != nil {
		return err
	}
	return count(in, out, 1, 1)
}

func (o *Match) shapes(in [][]Dim) ([][]Dim, error) { return sameShapes(in) }
func (o *Match) run(in []Array, b *budget) ([]Array, error) {
	r, err := o.compiled()
	if err != nil {
		return nil, err
	}
	return b.numbersOf(in[0], func(s string) (float64, error) {
		if r.MatchString(s) {
			return 1, nil
		}
		return 0, nil
	})
}

// Equal is 1 where the strings of two operands are the same.
type Equal struct{}

func (o *Equal) check(in, out int) error            { return count(in, out, 2, 1) }
func (o *Equal) shapes(in [][]Dim) ([][]Dim, error) { return broadcast(in) }
func (o *Equal) run(in []Array, b *budget) ([]Array, error) {
	shape, pairs, err := paired(in, b)
	if err != nil {
		return nil, err
	}
	out, err := b.ofNumbers(shape)
	if err != nil {
		return nil, err
	}
	for i, p := range pairs {
		if in[0].Strings[p[0]] == in[1].Strings[p[1]] {
			out.Numbers[i] = 1
		}
	}
	return []Array{out}, nil
}
