package fixed

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// signTable is 1 on the keys from 0 on and 0 below.
func (b *Builder) signTable(bits int) model.TableID {
	return b.aroundZero("not negative", bits, []model.Piece{{End: 1 << (bits - 1)}, {End: 1 << bits, Offset: 1}})
}

// ZeroTable is 1 at the key 0 and 0 elsewhere.
func (b *Builder) ZeroTable(bits int) model.TableID {
	half := int64(1) << (bits - 1)
	return b.aroundZero("zero", bits, []model.Piece{{End: half}, {End: half + 1, Offset: 1}, {End: 2 * half}})
}

// aroundZero is a piecewise table on the keys [−2^(bits−1), 2^(bits−1)).
func (b *Builder) aroundZero(name string, bits int, pieces []model.Piece) model.TableID {
	name = fmt.Sprintf("%s %d", name, bits)
	return b.addTable(model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Min: -1 << (bits - 1), Pieces: pieces})
}

// allKeys is the table of the identity on the keys [−2^(bits−1), 2^(bits−1)).
func (b *Builder) allKeys(bits int) model.TableID {
	return b.PiecewiseOf(Keep, -model.Bound, model.Bound, bits)
}

// ShiftedTable is the table of key + first on the keys [0, 2^bits).
func (b *Builder) ShiftedTable(bits int, first int64) model.TableID {
	return b.steppedTable(fmt.Sprintf("from %d, %d", first, bits), bits, []model.Piece{{End: 1 << bits, Slope: 1, Offset: first}})
}

// highBitsTable is the table of ⌊key/2^drop⌋ on the keys [0, 2^(bits+drop)).
func (b *Builder) highBitsTable(bits, drop int) model.TableID {
	name := fmt.Sprintf("upper %d of %d", bits, bits+drop)
	return b.addTable(model.Table{
		Name: name, Kind: model.TablePiecewise, Bits: bits + drop, Drop: drop, Pieces: []model.Piece{{End: 1 << bits, Slope: 1}},
	})
}

// steppedTable is a piecewise table on the keys [0, 2^bits). The name must tell its pieces from others.
func (b *Builder) steppedTable(name string, bits int, pieces []model.Piece) model.TableID {
	return b.addTable(model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Pieces: pieces})
}

// TableBits is the least n for which a table of the keys [−2^(n−1), 2^(n−1)) has the keys from lo to hi.
func TableBits(lo, hi int64) int {
	n := 1
	for lo < -(1<<(n-1)) || hi >= 1<<(n-1) {
		n++
	}
	return n
}

// kind is the shape of a piecewise function before clamping.
type kind uint8

const (
	Keep     kind = iota // x
	Absolute             // |x|
	Sign                 // −1 for x < 0, 1 otherwise
)

// Piecewise is a function of a real number: that of its Kind, and then a clamp to [Lo, Hi].
type Piecewise struct {
	Kind   kind
	Lo, Hi float64
}

// WholeLine is the identity, without a clamp.
var WholeLine = Piecewise{Keep, math.Inf(-1), math.Inf(1)}

// rectifier is max(x, 0).
var rectifier = Piecewise{Keep, 0, math.Inf(1)}

// At returns the ends of the clamp as integers on the scale frac, within ±2^30.
func (b Piecewise) At(frac int) (lo, hi int64) {
	clip := func(x float64) int64 {
		return int64(math.Round(math.Max(-model.Bound+1, math.Min(model.Bound-1, x*Pow2(frac)))))
	}
	return clip(b.Lo), clip(b.Hi)
}

// image bounds the function's values on keys in [kmin, kmax], with [lo, hi] for
// its clamp in integers.
func (b Piecewise) image(kmin, kmax, lo, hi int64) (outMin, outMax int64) {
	if b.Kind == Absolute {
		most := max(-kmin, kmax)
		kmin, kmax = max(0, kmin, -kmax), most
	}
	return min(max(kmin, lo), hi), min(max(kmax, lo), hi)
}

// addTable returns a table without a committed column, which its name identifies. It adds the table if it is new.
func (b *Builder) addTable(t model.Table) model.TableID {
	if id, ok := b.tables[t.Name]; ok {
		return id
	}
	t.Values = model.None
	if id, ok := b.replay.table(&t); ok {
		return id
	}
	return b.newTable(t.Name, t)
}

// newTable adds a table that is known by a key.
func (b *Builder) newTable(key string, t model.Table) model.TableID {
	id := model.TableID(len(b.Circuit.Tables))
	b.Circuit.Tables = append(b.Circuit.Tables, t)
	b.tables[key] = id
	return id
}

// RangeTable is the table of the keys [0, 2^bits).
func (b *Builder) RangeTable(bits int) model.TableID {
	return b.addTable(model.Table{Name: fmt.Sprintf("range %d", bits), Kind: model.TableRange, Bits: bits})
}

// PiecewiseOf is the table of a kind with the clamp [lo, hi] on the keys [−2^(bits−1), 2^(bits−1)).
func (b *Builder) PiecewiseOf(k kind, lo, hi int64, bits int) model.TableID {
	first := -int64(1) << (bits - 1)
	// A clamp beyond what the keys reach is no clamp.
	lo = max(lo, first)
	switch k {
	case Keep:
		hi = min(hi, -first-1)
	case Absolute:
		lo, hi = max(lo, 0), min(hi, -first)
	case Sign:
		lo, hi = max(lo, -1), min(hi, 1)
	}
	t := model.Table{Name: piecewiseName(k, lo, hi, bits), Kind: model.TablePiecewise, Bits: bits, Min: first}
	rows := int64(1) << bits
	// piece adds slope·key + offset for the keys below end, clamped.
	piece := func(end, slope, offset int64) {
		end = min(max(end-first, 0), rows)
		if n := len(t.Pieces); end == 0 || n > 0 && end <= t.Pieces[n-1].End {
			return
		}
		t.Pieces = append(t.Pieces, model.Piece{End: end, Slope: slope, Offset: offset})
	}
	last := first + rows
	switch k {
	case Keep:
		piece(lo, 0, lo)
		piece(hi+1, 1, 0)
		piece(last, 0, hi)
	case Absolute:
		piece(-hi, 0, hi)
		piece(-lo, -1, 0)
		piece(lo, 0, lo)
		piece(hi+1, 1, 0)
		piece(last, 0, hi)
	case Sign:
		piece(0, 0, max(lo, -1))
		piece(last, 0, min(hi, 1))
	}
	return b.addTable(t)
}

// FuncTable is the table with a committed column whose value i belongs to the key
// first + i. The last value is repeated up to the next power of two.
func (b *Builder) FuncTable(name string, first int64, of *Column) model.TableID {
	c := of.table(first)
	if id, ok := b.tables[c.name]; ok {
		return id
	}
	bits := model.Log2Ceil(len(c.rows))
	if id, ok := b.replay.function(bits, first, c.rows); ok {
		return id
	}
	id := b.Fixed("table "+name, []int{len(c.rows)}, 0, of.Least, of.Greatest, Listed(c.rows))
	return b.newTable(c.name, model.Table{Name: name, Kind: model.TableFunc, Bits: bits, Min: first, Values: id})
}

// piecewiseName names a piecewise table by its content.
func piecewiseName(k kind, lo, hi int64, bits int) string {
	return fmt.Sprintf("%s [%d,%d] %d", [...]string{"clamp", "abs", "sign"}[k], lo, hi, bits)
}

// Column is the column of values of a function table. Nodes and passes share columns, so nobody may
// write to one.
type Column struct {
	Values          []int32
	Frac            int          // the real values are Values times 2^−Frac
	Least, Greatest int64        // of Values
	Saturated       []model.Rows // the rows whose value is clamped, or stands in for one that is not defined
	mu              sync.Mutex
	tables          map[int64]tableColumn // the rows of tables made of it, by their first key
}

// NewColumn is the column of these values, of which there is at least one.
func NewColumn(values []int32, frac int, saturated []model.Rows) *Column {
	least, greatest := int64(slices.Min(values)), int64(slices.Max(values))
	return &Column{Values: values, Frac: frac, Least: least, Greatest: greatest, Saturated: United(saturated)}
}

// tableColumn has the rows of a table, a power of two, and a name made of the hash of its first key and rows.
type tableColumn struct {
	name string
	rows []int32
}

// table returns the rows of the column's table for the keys from first on. It repeats the last
// value up to the next power of two.
func (c *Column) table(first int64) tableColumn {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// Column returns the column that make makes, which is made once for each key: the nodes of an unrolled
// loop have columns in common, and passes over a model most of them. With an empty key it is made anew.
func (b *Builder) Column(key string, make func() *Column) *Column { return b.columns.Of(key, make) }

// Tabulated is the column of the n values f(0), f(1) and so on, each rounded to an integer. key identifies f, n
// and frac (Column).
func (b *Builder) Tabulated(key string, n int64, frac int, f func(i int) float64, saturated ...model.Rows) *Column {
	return b.Column(key, func() *Column {
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(math.Round(f(i)))
		}
		return NewColumn(values, frac, saturated)
	})
}

// LookUp adds the look-up of a function of e, rounded to the scale frac, and returns the result. The
// function has the column c for the keys from first on.
func (b *Builder) LookUp(name, table string, e *Int, frac int, first int64, c *Column) model.TensorID {
	id := b.Witness(name, e.Shape, c.Frac, c.Least, c.Greatest)
	b.Saturates(c.Saturated)
	b.Lookup(e, frac, b.FuncTable(table, first, c), id)
	return id
}
