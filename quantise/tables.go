package quantise

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// kind is the shape of a piecewise function before clamping.
type kind uint8

const (
	keep     kind = iota // x
	absolute             // |x|
	sign                 // −1 for x < 0, 1 otherwise
)

// lineBounds is a piecewise function of a real number: kind, then a clamp to
// [lo, hi].
type piecewise struct {
	kind   kind
	lo, hi float64
}

// wholeLine keeps every value.
var wholeLine = piecewise{keep, math.Inf(-1), math.Inf(1)}

// rectifier is max(x, 0).
var rectifier = piecewise{keep, 0, math.Inf(1)}

// at returns the clamp in integers on a scale.
func (b piecewise) at(frac int) (lo, hi int64) {
	clip := func(x float64) int64 {
		return int64(math.Round(math.Max(-model.Bound+1, math.Min(model.Bound-1, x*pow2(frac)))))
	}
	return clip(b.lo), clip(b.hi)
}

// image bounds the function's values on keys in [kmin, kmax] with the integer
// clamp [lo, hi].
func (b piecewise) image(kmin, kmax, lo, hi int64) (outMin, outMax int64) {
	if b.kind == absolute {
		most := max(-kmin, kmax)
		kmin, kmax = max(0, kmin, -kmax), most
	}
	return min(max(kmin, lo), hi), min(max(kmax, lo), hi)
}

// boundsOf returns the clamp that a function is, or nil.
func boundsOf(s graph.Scalar) *piecewise {
	if s.Func.Clamp == nil {
		return nil
	}
	c := s.Func.Clamp(s.Params)
	b := &piecewise{keep, c.Lo, c.Hi}
	if c.Abs {
		b.kind = absolute
	}
	return b
}

// addTable returns the table with this content, adding it if it is new.
func (l *builder) addTable(key string, t model.Table) model.TableID {
	if id, ok := l.tables[key]; ok {
		return id
	}
	if id, ok := l.past.table(&t); ok {
		return id
	}
	id := model.TableID(len(l.g.Tables))
	l.g.Tables = append(l.g.Tables, t)
	l.tables[key] = id
	return id
}

// hasTable says whether there is a table without a column that is known by that name.
func (l *builder) hasTable(key string) bool {
	_, ok := l.tables[key]
	return ok || l.past.named(key)
}

// rangeTable is the table of the keys [0, 2^bits).
func (l *builder) rangeTable(bits int) model.TableID {
	name := fmt.Sprintf("range %d", bits)
	return l.addTable(name, model.Table{Name: name, Kind: model.TableRange, Bits: bits, Values: model.None})
}

// piecewise is the model's table, on all its keys, of a kind with the clamp
// [lo, hi].
func (l *builder) piecewise(k kind, lo, hi int64) model.TableID {
	return l.piecewiseOf(k, lo, hi, l.plan.tableBits)
}

// piecewiseOf is the same on the keys [−2^(bits−1), 2^(bits−1)).
func (l *builder) piecewiseOf(k kind, lo, hi int64, bits int) model.TableID {
	first := -int64(1) << (bits - 1)
	// A clamp beyond what the keys reach is no clamp.
	lo = max(lo, first)
	switch k {
	case keep:
		hi = min(hi, -first-1)
	case absolute:
		lo, hi = max(lo, 0), min(hi, -first)
	case sign:
		lo, hi = max(lo, -1), min(hi, 1)
	}
	name := piecewiseName(k, lo, hi, bits)
	t := model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Min: first, Values: model.None}
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
	case keep:
		piece(lo, 0, lo)
		piece(hi+1, 1, 0)
		piece(last, 0, hi)
	case absolute:
		piece(-hi, 0, hi)
		piece(-lo, -1, 0)
		piece(lo, 0, lo)
		piece(hi+1, 1, 0)
		piece(last, 0, hi)
	case sign:
		piece(0, 0, max(lo, -1))
		piece(last, 0, min(hi, 1))
	}
	return l.addTable(name, t)
}

// funcTable is a table with a committed column: values[i] belongs to key
// first + i. The rows beyond len(values) repeat the last value.
func (l *builder) funcTable(name string, first int64, values []int32) model.TableID {
	c := l.columns.table(first, values)
	if id, ok := l.tables[c.name]; ok {
		return id
	}
	bits, lo, hi := model.Log2Ceil(len(c.rows)), slices.Min(c.rows), slices.Max(c.rows)
	if id, ok := l.past.function(bits, first, c.rows); ok {
		return id
	}
	id := l.fixed("table "+name, []int{len(c.rows)}, 0, int64(lo), int64(hi), func(dst []int32, from int) { copy(dst, c.rows[from:]) })
	return l.addTable(c.name, model.Table{Name: name, Kind: model.TableFunc, Bits: bits, Min: first, Values: id})
}

// piecewiseName names a piecewise table by its content.
func piecewiseName(k kind, lo, hi int64, bits int) string {
	return fmt.Sprintf("%s [%d,%d] %d", [...]string{"clamp", "abs", "sign"}[k], lo, hi, bits)
}
