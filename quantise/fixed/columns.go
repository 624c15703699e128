package fixed

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Column is a committed column of a function: its values, of which each is an integer times
// 2^−Frac, their ends, and the rows at which it was clamped or stands in for something. Nobody may
// write to it, as nodes and passes share it.
type Column struct {
	Values          []int32
	Frac            int
	Least, Greatest int64
	Saturated       []model.Rows
	tables          map[int64]tableColumn // that were made of it, by their first key
}

// NewColumn is the column of these values, at least one.
func NewColumn(values []int32, frac int, saturated []model.Rows) *Column {
	return &Column{values, frac, int64(slices.Min(values)), int64(slices.Max(values)), United(saturated), nil}
}

// tableColumn has as many rows as a table, and a name that tells it apart from others.
type tableColumn struct {
	name string
	rows []int32
}

// table returns the rows of a table of the column for the keys from first on. It repeats the last
// value to the next power of two.
func (c *Column) table(first int64) tableColumn {
	return Remember(&c.tables, first, func() tableColumn {
		rows := make([]int32, 1<<model.Log2Ceil(len(c.Values)))
		for i := copy(rows, c.Values); i < len(rows); i++ {
			rows[i] = c.Values[len(c.Values)-1]
		}
		h := sha256.New()
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(first)))
		h.Write(ints.Bytes(ints.Int32s(rows)))
		return tableColumn{"function " + string(h.Sum(nil)), rows}
	})
}

// Column is what make makes, made once for a key: the nodes of a loop that is unrolled have
// columns in common, and passes over a model have most of them. Without a key it is made anew.
func (b *Builder) Column(key string, make func() *Column) *Column { return b.columns.Of(key, make) }

// Tabulated is the column of f(0), f(1) and so on, n values in all, each rounded to an integer (Column).
func (b *Builder) Tabulated(key string, n int64, frac int, f func(i int) float64, saturated ...model.Rows) *Column {
	return b.Column(key, func() *Column {
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(math.Round(f(i)))
		}
		return NewColumn(values, frac, saturated)
	})
}

// LookUp is the tensor of a function of e, rounded to a scale, whose column for the keys from the
// given one on is c.
func (b *Builder) LookUp(name, table string, e *Int, frac int, first int64, c *Column) model.TensorID {
	id := b.Witness(name, e.Shape, c.Frac, c.Least, c.Greatest)
	b.Saturates(c.Saturated)
	b.Lookup(e, frac, b.FuncTable(table, first, c), id)
	return id
}
