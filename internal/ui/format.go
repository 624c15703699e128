package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
)

// Bytes writes a number of bytes in the largest unit of B, KB, MB and GB, powers of
// 1000, in which it is at least 1.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// JSON writes v on w as one indented document, in printable characters.
func JSON(w io.Writer, v any) (err error) {
	defer must.Catch(&err)
	b := must.Get(json.Marshal(v))
	return indent(w, escapeJSON(b))
}

// JSONLine writes v on w as one line of JSON, in printable characters.
func JSONLine(w io.Writer, v any) (err error) {
	defer must.Catch(&err)
	b := must.Get(json.Marshal(v))
	_, err = w.Write(append(escapeJSON(b), '\n'))
	return err
}

// indentPart is about how many bytes indent writes at a time.
const indentPart = 1 << 16

// indent writes b, which json.Marshal gave, indented by two spaces as json.Indent would, and
// ends the line. It writes in parts, so that a list of a million logits is not held in memory
// twice.
func indent(w io.Writer, b []byte) error {
	out, line := make([]byte, 0, 2*indentPart), []byte{'\n'}
	for i := 0; i < len(b); i++ {
		if len(out) >= indentPart {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		switch c := b[i]; c {
		case '{', '[':
			out = append(out, c)
			if end := b[i+1]; end == '}' || end == ']' {
				out = append(out, end)
				i++
				continue
			}
			line = append(line, "  "...)
			out = append(out, line...)
		case '}', ']':
			line = line[:len(line)-2]
			out = append(append(out, line...), c)
		case ',':
			out = append(append(out, c), line...)
		case ':':
			out = append(out, ": "...)
		case '"':
			from := i
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			out = append(out, b[from:i+1]...)
		default:
			from := i
			for i+1 < len(b) && !structural[b[i+1]] {
				i++
			}
			out = append(out, b[from:i+1]...)
		}
	}
	_, err := w.Write(append(out, '\n'))
	return err
}

// structural says which bytes end a number or a name such as null.
var structural = [256]bool{',': true, ']': true, '}': true}

// Cells returns the cells of a table's row: fmt.Sprintf of the arguments, split at tabs. Strings among the arguments
// are made printable first.
func Cells(format string, args ...any) []string {
	return strings.Split(fmt.Sprintf(format, printable(args)...), "\t")
}

// Table writes a header and rows in aligned columns. Cells are made printable.
func Table(w io.Writer, header []string, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := seq.Map(row, Printable)
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush() // w remembers errors (program.Run)
}

// Line writes a line of a result: a label in a column of its own, followed by fmt.Sprintf of the arguments. Strings among the
// arguments are made printable.
func Line(w io.Writer, what, format string, args ...any) {
	fmt.Fprintf(w, "%-11s %s\n", what, fmt.Sprintf(format, printable(args)...))
}

// printable makes the strings among arguments of fmt.Sprintf printable.
func printable(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = Printable(text)
		}
	}
	return args
}

// LineIf writes a Line if `there` is set.
func LineIf(there bool, w io.Writer, what, format string, args ...any) {
	if there {
		Line(w, what, format, args...)
	}
}
