package open

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Three rounds between the products of rows and the tables over K: with some place l of the first eighth, those l + n/8, l + 2n/8 …
// make all that the sums of the next three rounds have of it. So the tables are made at some of these places at a time, added up, and
// dropped. What is made as a whole, with three more variables bound, is an eighth of them. Rows are read once more.

// OctetVars is how many rounds these are, and octet how many places go together.
const OctetVars, octet = 3, 8

// ThreeRounds returns the sums of the three rounds after those that coefs bind, as a grid of three variables. No values are recomputed for
// each pass (Passing).
func (r *Rows) ThreeRounds(coefs []field.QM31) Rounds {
	a := device.NewScope(r.Mem)
	defer a.Close()
	n := len(r.At) / len(coefs)
	eighth := n / octet
	some := placesAtOnce(n) / octet
	size := octet * some << r.RowVars
	f, w := device.NewArray[field.QM31](a, size), device.NewArray[field.QM31](a, size)
	octets := bits.TrailingZeros(uint(size)) - OctetVars
	batch, err := kernels.NewSumcheckBatch(a, []kernels.SumcheckInstance{{A: f, B: w, Vars: octets + OctetVars}})
	device.Check(err)
	words := kernels.SumcheckThreeRoundsWords * kernels.SumcheckThreeRoundsParts(1, octets)
	sum := make(kernels.Grid, kernels.SumcheckThreeRoundsWords/kernels.SumWords)
	places := make([]int, octet*some)
	for from := 0; from < eighth; from += some {
		for i := range places {
			places[i] = i/some*eighth + from + i%some
		}
		r.FoldRows(f, coefs, places)
		r.FoldFunctional(w, coefs, places)
		g := kernels.NewGrid(r.Stream.Results().Read(words, func(p kernels.Post) error {
			return kernels.SumcheckThreeRounds(a, batch, 1, octets, nil, p)
		}))
		for i, x := range g {
			sum[i] = sum[i].Add(x)
		}
	}
	r.groupAhead(eighth) // for the tables
	return &gridRounds{sum}
}

// gridRounds are rounds of which all values are there.
type gridRounds struct{ grid kernels.Grid }

// Round implements Rounds, as Bind does.
func (g *gridRounds) Round() whir.Sums {
	zero, _, top := g.grid.Values(nil)
	return whir.Sums{Zero: zero, Top: top}
}

// Bind binds the first variable.
func (g *gridRounds) Bind(r field.QM31) { g.grid = g.grid.Bind(r) }

// placesAtOnce is at how many of n places the tables are made at a time: as many as are left of them after three rounds, or one octet.
func placesAtOnce(n int) int { return max(octet, n/octet) }

// Passing says whether values of some segments are recomputed for each pass over the rows.
func (r *Rows) Passing() bool {
	return slices.ContainsFunc(r.Trees, func(t placed) bool { return slices.ContainsFunc(t.segments, r.passes) })
}
