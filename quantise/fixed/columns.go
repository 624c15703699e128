package fixed

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// ColumnCache remembers the columns of functions by name: passes over a model, and
// models that differ in some formats, have most of them in common, and a column takes
// longer to make than all else in a pass.
type ColumnCache struct {
	last, before map[string]*cachedColumn
	at           map[*int32]*cachedColumn // the last ones, by their first value
}

// cachedColumn is a column, and the tables that were made of it, by their first key.
type cachedColumn struct {
	values []int32
	tables map[int64]tableColumn
}

// tableColumn has as many rows as a table, and a name that tells it apart from others.
type tableColumn struct {
	name string
	rows []int32
}

// get returns a column, which nobody may write to, and makes it if need be.
func (m *ColumnCache) get(name string, make func() []int32) []int32 {
	c, ok := m.last[name]
	if ok {
		return c.values
	}
	if c, ok = m.before[name]; !ok {
		c = &cachedColumn{make(), map[int64]tableColumn{}}
	}
	if m.last == nil {
		m.last, m.at = map[string]*cachedColumn{}, map[*int32]*cachedColumn{}
	}
	m.last[name] = c
	if len(c.values) > 0 {
		m.at[&c.values[0]] = c
	}
	return c.values
}

// table returns the rows of a table of these values, at least one, for the keys from
// first on: once more if they are a column that get has returned.
func (m *ColumnCache) table(first int64, values []int32) tableColumn {
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

// Next forgets what nobody has asked for since it was last called.
func (m *ColumnCache) Next() { m.last, m.before, m.at = nil, m.last, nil }

// Column is a function's column of that name.
func (b *Builder) Column(name string, make func() []int32) []int32 { return b.columns.get(name, make) }
