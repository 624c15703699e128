package quantise

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// madeColumns remembers the columns of functions by name: passes over a model, and
// models that differ in some formats, have most of them in common, and a column takes
// longer to make than all else in a pass.
type madeColumns struct {
	last, before map[string]*madeColumn
	at           map[*int32]*madeColumn // the last ones, by their first value
}

// madeColumn is a column, and the tables that were made of it, by their first key.
type madeColumn struct {
	values []int32
	tables map[int64]tableColumn
}

// tableColumn has as many rows as a table, and a name that tells it apart from others.
type tableColumn struct {
	name string
	rows []int32
}

// get returns a column, which nobody may write to, and makes it if need be.
func (m *madeColumns) get(name string, make func() []int32) []int32 {
	c, ok := m.last[name]
	if ok {
		return c.values
	}
	if c, ok = m.before[name]; !ok {
		c = &madeColumn{make(), map[int64]tableColumn{}}
	}
	if m.last == nil {
		m.last, m.at = map[string]*madeColumn{}, map[*int32]*madeColumn{}
	}
	m.last[name] = c
	if len(c.values) > 0 {
		m.at[&c.values[0]] = c
	}
	return c.values
}

// table returns the rows of a table of these values, at least one, for the keys from
// first on: once more if they are a column that get has returned.
func (m *madeColumns) table(first int64, values []int32) tableColumn {
	if m == nil {
		return newTableColumn(first, values)
	}
	c := m.at[&values[0]]
	if c == nil || len(c.values) != len(values) {
		return newTableColumn(first, values)
	}
	t, ok := c.tables[first]
	if !ok {
		t = newTableColumn(first, values)
		c.tables[first] = t
	}
	return t
}

// newTableColumn repeats the last value to the next power of two.
func newTableColumn(first int64, values []int32) tableColumn {
	rows := make([]int32, 1<<model.Log2Ceil(len(values)))
	for i := copy(rows, values); i < len(rows); i++ {
		rows[i] = values[len(values)-1]
	}
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(first)))
	h.Write(ints.Bytes(ints.Int32s(rows)))
	return tableColumn{"function " + string(h.Sum(nil)), rows}
}

// next forgets what nobody has asked for since it was last called.
func (m *madeColumns) next() { m.last, m.before, m.at = nil, m.last, nil }

// column is a function's column of that name.
func (l *builder) column(name string, make func() []int32) []int32 { return l.columns.get(name, make) }
