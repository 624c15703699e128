package onnx

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// table has rows of numbers or strings in named columns. The model decides whether the whole table is
// one input or each column is an input of its own, and whether a column has numbers or strings.
type table struct {
	columns []string
	at      map[string]int // index of a column by its name
	rows    [][]float64    // cells as numbers, 0 for those in odd columns that are none
	cells   [][]string     // cells as strings
	odd     []error        // for each column, the error about the first cell that is not a number
}

// parseTable reads values separated by commas (RFC 4180), semicolons or tabs. The first line
// names the columns.
func parseTable(data []byte) Inputs {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	header, _, _ := bytes.Cut(data, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	for _, c := range ";\t" {
		if !bytes.ContainsRune(header, ',') && bytes.ContainsRune(header, c) {
			r.Comma = c
		}
	}
	r.TrimLeadingSpace = r.Comma != '\t' // a tab is space, and after another one it would be trimmed
	first, err := r.Read()
	refuse.If(errors.Is(err, io.EOF),
		"is empty: the first line names the columns, and each further one is a row of numbers")
	must.OK(err)
	t := &table{at: map[string]int{}}
	for i, name := range first {
		name = strings.TrimSpace(name)
		_, err := strconv.ParseFloat(name, 64)
		refuse.If(err == nil, "column %d is called %s: the first line must name the columns", i+1, graph.Quote(name))
		if _, twice := t.at[name]; name == "" || twice {
			refuse.With("column %d has no name of its own, but %s: give each column one", i+1, graph.Quote(name))
		}
		t.at[name] = i
		t.columns = append(t.columns, name)
		refuse.If(len(t.columns) > maxColumns, "has more than %d columns", maxColumns)
	}
	t.odd = make([]error, len(t.columns))
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		must.OK(err)
		row := make([]float64, len(record))
		for i, cell := range record {
			if row[i], err = number(strings.TrimSpace(cell)); err != nil && t.odd[i] == nil {
				line, _ := r.FieldPos(i)
				t.odd[i] = fmt.Errorf("line %d, column %s: %w", line, graph.Quote(t.columns[i]), err)
			}
		}
		t.rows, t.cells = append(t.rows, row), append(t.cells, slices.Clone(record))
	}
	refuse.If(len(t.rows) == 0, "has names of columns but no rows")
	return Inputs{{table: t}}
}

// maxColumns bounds the columns, and with them the cost of finding names among them.
const maxColumns = 1 << 16

// number reads a cell: a decimal number, or true or false as 1 or 0. A fraction is rounded to
// float32.
func number(cell string) (float64, error) {
	switch {
	case cell == "":
		return 0, errors.New("is empty: fill in missing values as the model was trained to expect them")
	case strings.EqualFold(cell, "true"):
		return 1, nil
	case strings.EqualFold(cell, "false"):
		return 0, nil
	}
	x, err := strconv.ParseFloat(cell, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a number, which the model takes there: encode categories as numbers, as the model was trained", graph.Quote(cell))
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, fmt.Errorf("is %v: fill in missing values as the model was trained to expect them", x)
	case x == math.Trunc(x):
		return x, nil
	}
	if f := float64(float32(x)); !math.IsInf(f, 0) {
		return f, nil
	}
	return x, nil
}

// whole returns the table as the array for input w: rows by columns. Sizes of 0 in w's
// shape are open.
func (t *table) whole(w graph.Input) Input {
	name, shape := w.Name, w.Shape
	in := Input{Name: name, Shape: t.shapeFor(shape, len(t.columns))}
	if len(shape) > 1 {
		if want := graph.Size(shape[1:]); want > 0 && want != len(t.columns) { // 0: open
			refuse.With("the table has %d columns, %s, and input %s takes %d: leave the others out, or add what is missing",
				len(t.columns), several(t.columns), graph.Quote(name), want)
		}
	}
	if w.DType == stringType {
		in.Strings = slices.Concat(t.cells...)
		return in
	}
	for _, err := range t.odd {
		must.OK(err)
	}
	in.Values = slices.Concat(t.rows...)
	return in
}

// shapeFor returns the shape of an array for an input of the given shape, from a table of
// which each row has the given number of cells. If the sizes of the input's axes after the
// first one are known, the cells of a row fill these axes.
func (t *table) shapeFor(shape []int, cells int) []int {
	rows := len(t.rows)
	switch {
	case len(shape) > 2 && graph.Size(shape[1:]) == cells:
		return append([]int{rows}, shape[1:]...)
	case len(shape) > 2:
		return nil // open
	case shape != nil && len(shape) < 2 && cells == 1:
		return []int{rows}
	}
	return []int{rows, cells}
}

// column returns the column with index at as the array for input w, which takes one
// feature.
func (t *table) column(at int, w graph.Input) (Input, error) {
	in := Input{Name: w.Name, Shape: t.shapeFor(w.Shape, 1)}
	if w.DType == stringType {
		in.Strings = each(t.cells, func(row []string) string { return row[at] })
		return in, nil
	}
	in.Values = each(t.rows, func(row []float64) float64 { return row[at] })
	return in, t.odd[at]
}

// inputs returns the arrays for the wanted inputs: for each the column of its name, if
// there is one; columns of other names, such as the answer, are ignored. Otherwise, if a
// single input is wanted, it is the whole table.
func (t *table) inputs(wanted []graph.Input) Inputs {
	var in Inputs
	var missing []string
	var odd error
	for _, w := range wanted {
		if at, ok := t.at[w.Name]; ok {
			column, err := t.column(at, w)
			if in = append(in, column); odd == nil {
				odd = err
			}
		} else {
			missing = append(missing, w.Name)
		}
	}
	alone := len(wanted) == 1 && len(t.columns) > 1
	if len(missing) == 0 && len(wanted) > 0 && !(alone && graph.Size(wanted[0].Shape[min(1, len(wanted[0].Shape)):]) != 1) {
		must.OK(odd)
		return in
	}
	if len(wanted) == 1 {
		return Inputs{t.whole(wanted[0])}
	}
	refuse.With("the table has columns %s, and none for %s: an input takes the column of its name, or a whole table with --input name=file.csv",
		several(t.columns), several(missing))
	return nil
}

// several lists at most 12 names for a message, and the number of the others.
func several(names []string) string {
	const most = 12
	s := strings.Join(each(names[:min(most, len(names))], graph.Quote), ", ")
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", s, n)
	}
	return s
}
