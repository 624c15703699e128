package lower

import (
	"math"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// samples are the values of a function at the keys of a table: 0 where it has none, and whether each
// key is inside of its domain.
type samples struct {
	at     []float64
	inside []bool
}

// sampled are the values of a function for n keys, of which x has the arguments.
func (f curve) sampled(n int64, x func(key int64) float64) samples {
	s := samples{make([]float64, n), make([]bool, n)}
	parallel.For(len(s.at), 1<<10, func(from, to int) {
		for i := from; i < to; i++ {
			s.at[i], s.inside[i] = f.value(x(int64(i)))
		}
	})
	return s
}

// column rounds the values to a scale, within ±top. Rows that are not inside of the function's
// domain, or are clamped, are saturated.
func (s samples) column(frac int, top int64) *fixed.Column {
	var saturated []model.Rows
	values := make([]int32, len(s.at))
	scale := fixed.Pow2(frac)
	for i, y := range s.at {
		y = math.Round(y * scale)
		if !s.inside[i] || math.Abs(y) > float64(top) {
			saturated = append(saturated, model.Rows{From: int64(i), To: int64(i) + 1})
		}
		values[i] = int32(max(-float64(top), min(float64(top), y)))
	}
	return fixed.NewColumn(values, frac, saturated)
}

// keyWithin is the key of a function that is kept within ±end: the one given, by which the function alone
// is known, unless it has values beyond that, of which largest finds the largest magnitude.
func (l *lowering) keyWithin(key string, end float64, largest func() float64) string {
	if l.memory.most.Of(key, largest) <= end {
		return key
	}
	return keyOf(key, end)
}
