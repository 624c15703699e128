package reduce

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// The closed form of a piecewise table's column is the extension of its values, row by
// row, also where the lowest bits of keys do not enter these.
func TestPiecewise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for bits := range 9 {
		for drop := range max(bits, 1) {
			table := model.Table{Kind: model.TablePiecewise, Bits: bits, Drop: drop, Values: model.None}
			if drop == 0 {
				table.Min = rng.Int64N(1000) - 500
			}
			for end := int64(0); end < 1<<(bits-drop); {
				end += 1 + rng.Int64N(1<<(bits-drop)-end)
				table.Pieces = append(table.Pieces, model.Piece{End: end, Slope: rng.Int64N(9) - 4, Offset: rng.Int64N(2*model.Bound) - model.Bound})
			}
			column := make([]field.M31, 1<<bits)
			for row := range column {
				column[row] = field.FromInt64(table.Value(table.Min+int64(row), nil))
			}
			at := randomPoint(rng, bits)
			if piecewise(&table, at) != poly.EvalM31(column, at) {
				t.Errorf("%d bits without %d, %d pieces: another value", bits, drop, len(table.Pieces))
			}
		}
	}
}
