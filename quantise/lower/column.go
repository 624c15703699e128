package lower

import (
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// roundedColumn rounds real values to a scale, within ±top. Rows that are not inside of the
// function's domain, or are clamped, are saturated.
func roundedColumn(real []float64, inside []bool, frac int, top int64) *fixed.Column {
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
	return fixed.NewColumn(values, frac, saturated)
}

// keyWithin is the key of a function that is kept within ±end: the one given, by which the function alone
// is known, unless it has values beyond that, of which largest finds the largest magnitude.
func (l *lowering) keyWithin(key string, end float64, largest func() float64) string {
	if key == "" || l.memory.most.Of(key, largest) <= end {
		return key
	}
	return keyWith(key, end)
}
