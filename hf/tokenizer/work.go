package tokenizer

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenizer comes from whoever published the model. A few lines of its file can make a
// text grow exponentially, for example by replacing a by aa forty times. So the bytes that each
// step reads or makes are counted before the step, and more than these limits is refused. The
// largest published vocabularies need a tenth of the limits.
const (
	leastWork   = 1 << 22 // bytes of work that any text may take
	workPerByte = 1024    // bytes in addition, for each byte of a text that is encoded
	workPerID   = 4096    // bytes in addition, for each id that is decoded
	// workPerFileByte is the bytes of work in addition, for each byte of a file, that normalising
	// its added tokens may take.
	workPerFileByte = 64
)

// The work of other operations. It is given as the number of bytes of text that take about as much memory and time.
const (
	pieceWork  = 64 // a piece of a text
	symbolWork = 64 // a character that merges begin with
	lookWork   = 16 // a look-up in a vocabulary, in addition to the bytes of the text that is looked up
)

var errWork = errors.New("the tokenizer makes far more of the text than there is in it: its file is damaged, or made to exhaust memory")

// work is the budget that is left for one text. When it is used up, all results are empty,
// and err returns an error.
type work struct{ left int }

// spend subtracts n times each from the budget, and reports whether that much was left.
func (w *work) spend(n, each int) bool {
	if w.left < 0 || n > w.left/each {
		w.left = -1
		return false
	}
	w.left -= n * each
	return true
}

func (w *work) err() error {
	if w.left < 0 {
		return errWork
	}
	return nil
}

// replace replaces every occurrence of from, which is not empty, in s.
func (w *work) replace(s, from, to string) string {
	if !w.spend(len(s), 1) || !w.spend(len(s)+strings.Count(s, from)*max(len(to)-len(from), 0), 1) {
		return ""
	}
	return strings.ReplaceAll(s, from, to)
}

// runs replaces every run of two or more spaces by to.
func (w *work) runs(s, to string) string {
	if !w.spend(len(s), 1+len(to)) {
		return ""
	}
	var b strings.Builder
	for s != "" {
		at := strings.Index(s, "  ")
		if at < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:at])
		b.WriteString(to)
		s = strings.TrimLeft(s[at:], " ")
	}
	return b.String()
}

// spaces replaces every run of white space by to. If some is set, it leaves runs of a single character that is no tab or end of a line.
func (w *work) spaces(s, to string, some bool) string {
	if !w.spend(len(s), 1+len(to)) {
		return ""
	}
	var b strings.Builder
	for s != "" {
		n := run(s, func(r rune) bool { return !unicode.IsSpace(r) })
		b.WriteString(s[:n])
		s = s[n:]
		n = run(s, unicode.IsSpace)
		if one := s[:n]; n > 0 && some && utf8.RuneCountInString(one) == 1 && !strings.Contains("\n\r\t", one) {
			b.WriteString(one)
		} else if n > 0 {
			b.WriteString(to)
		}
		s = s[n:]
	}
	return b.String()
}

// join joins texts, with between them the text between.
func (w *work) join(texts []string, between string) string {
	n := 0
	for _, s := range texts {
		n += len(s)
	}
	if !w.spend(n, 1) || !w.spend(len(texts), len(between)+1) {
		return ""
	}
	return strings.Join(texts, between)
}

// joined is before + s.
func (w *work) joined(before, s string) string {
	if !w.spend(len(before)+len(s), 1) {
		return ""
	}
	return before + s
}

// normaliser is a step that changes a text.
type normaliser func(w *work, s string) string

// bounded is the normaliser f, which returns at most growth bytes for each byte of its argument.
func bounded(growth int, f func(string) string) normaliser {
	return func(w *work, s string) string {
		if !w.spend(len(s), 1+growth) {
			return ""
		}
		return f(s)
	}
}

// mostGrowth is how many times as long a text can become in one of Unicode's normal forms:
// U+FDFA, of 3 bytes, becomes 33 bytes.
const mostGrowth = 11
