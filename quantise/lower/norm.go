package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerNorm, always[graph.Norm](Traits{Means: true, Norm: true}))
	register(lowerLogPower, always[graph.LogPower](Traits{Means: true}))
}

// lowerNorm lowers a norm so that a row's size does not matter, from a unit to all
// that its tensor may hold.
//
// The sum of squares N of a row is exact, a wide integer (digits), and at least 1.
// Its leading bits are looked up in a table of inverse roots, which makes a factor Q;
// where they are says how to shift it: the result is Σ C_i·limb i of x, C_i being
// √count·2^frac·2^(bits·i)/√N, rounded. So the limbs of small rows have large factors
// and the low limbs of large ones small factors, down to 0; and the sum, to be
// rounded once, is on one scale for all rows, and bounded by the root of the number
// of elements, or less where the epsilon is large, whatever x is.
func lowerNorm(l *lowering, op graph.Norm, v *value, in []*value) {
	x := in[0]
	count := op.Count(v.shape)
	if count > fixed.MaxNorm {
		refuse.With("rows of %d elements are over %d", count, fixed.MaxNorm)
	}
	r := fixed.RowsOf(v.shape, op.Axes)
	id, times := l.narrowEnough(x, op.Centred), 1
	if op.Centred {
		l.Begin(fixed.Block{Kind: fixed.CentredBlock, Of: id, Mask: model.None, Axes: op.Axes})
		id, times = l.Centred(r, id, count)
	}
	l.Begin(fixed.Block{Kind: fixed.NormBlock, Of: id, Mask: model.None, Axes: op.Axes, Sum: op.Sum, Epsilon: op.Epsilon, Times: times})
	v.acc = l.Normalised(r, id, op.Sum, op.Epsilon, times)
	if !slices.Equal(op.Axes, []int{len(v.shape) - 1}) {
		v.acc.Norm = 0 // rows are not along the last axis
	}
}

// narrowEnough returns the value's tensor for a norm. It cuts its operand into limbs,
// which look-ups can do of values below 2^29; less its mean, one may be twice as large.
func (l *lowering) narrowEnough(x *value, centred bool) model.TensorID {
	id, most := l.tensor(x), 28
	if centred {
		most--
	}
	return l.coarser(x, id, model.Log2Ceil(int(l.Magnitude(id)))-most)
}

// lowerLogPower lowers the logarithm of the power of rows, of any size: the sum of the
// squares and the epsilon, N, is a wide integer, of whose leading bits a table gives the
// logarithm. So it is right to 2^−12, of the smallest power as of the largest.
func lowerLogPower(l *lowering, op graph.LogPower, v *value, in []*value) {
	x := in[0]
	axes := []int{len(x.shape) - 1}
	r := fixed.RowsOf(x.shape, axes)
	if r.Count > fixed.MaxNorm {
		refuse.With("rows of %d elements are over %d", r.Count, fixed.MaxNorm)
	}
	id := l.narrowEnough(x, false)
	l.Begin(fixed.Block{Kind: fixed.LogPowerBlock, Of: id, Mask: model.None, Axes: axes, Epsilon: op.Epsilon})
	e := l.View(l.LogPower(r, id, op.Epsilon), nil, r.Shape)
	if !v.output {
		e = l.View(l.roundTerm(v, e), nil, r.Shape) // it is not right to more bits than one table has
	}
	v.acc = e
}
