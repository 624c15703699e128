package lower

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// column is a committed column of a function: its values, of which each is an integer times
// 2^−frac, their ends, and the rows at which it was clamped or stands in for something.
type column struct {
	values          []int32
	frac            int
	least, greatest int64
	saturated       []model.Rows
}

// newColumn is the column of these values.
func newColumn(values []int32, frac int, saturated []model.Rows) *column {
	return &column{values, frac, int64(slices.Min(values)), int64(slices.Max(values)), fixed.United(saturated)}
}

// roundedColumn rounds real values to a scale, within ±top. Rows that are not inside of the
// function's domain, or are clamped, are saturated.
func roundedColumn(real []float64, inside []bool, frac int, top int64) *column {
	var saturated []model.Rows
	values := make([]int32, len(real))
	scale := fixed.Pow2(frac)
	for i, y := range real {
		if math.IsNaN(y) {
			y = 0
		}
		y = math.Round(y * scale)
		if !inside[i] || math.Abs(y) > float64(top) {
			if n := len(saturated); n > 0 && saturated[n-1].To == int64(i) {
				saturated[n-1].To++
			} else {
				saturated = append(saturated, model.Rows{From: int64(i), To: int64(i) + 1})
			}
		}
		values[i] = int32(max(-float64(top), min(float64(top), y)))
	}
	return newColumn(values, frac, saturated)
}

// columnOf is what make makes, made once for a key: the nodes of a loop that is unrolled have
// columns in common, and passes over a model have most of them. Without a key it is made anew.
func (l *lowering) columnOf(key string, make func() *column) *column {
	c := l.memory.functions.of(key, make)
	if key != "" {
		l.Column(key, func() []int32 { return c.values }) // so that tables know it again
	}
	return c
}

// lookedUp is the tensor of a function whose column for the keys from the given one on is c.
func (l *lowering) lookedUp(name, table string, key *fixed.Int, from int64, c *column) model.TensorID {
	id := l.Witness(name, key.Shape, c.frac, c.least, c.greatest)
	l.Saturates(c.saturated)
	l.LookupDirect(key, l.FuncTable(table, from, c.values), id)
	return id
}
