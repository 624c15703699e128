package quantise

import (
	"math"
	"math/big"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerLogPower, always[graph.LogPower](traits{means: true})) }

// lowerLogPower lowers the logarithm of the power of rows, of any size: the sum of the
// squares and the epsilon, N, is a wide integer, of whose leading bits a table gives the
// logarithm. So it is right to 2^−12, of the smallest power as of the largest.
func lowerLogPower(l *lowering, n *graph.Node, op graph.LogPower, v *value) {
	x := l.values[n.Inputs[0]]
	axes := []int{len(x.shape) - 1}
	r := rowsOf(x.shape, axes)
	if r.count > maxNorm {
		refuse("rows of %d elements are over %d", r.count, maxNorm)
	}
	id := l.narrowEnough(x, false)
	l.begin(Block{Kind: logPowerBlock, Of: id, Mask: model.None, Axes: axes, Epsilon: op.Epsilon})
	e := l.tensorExpr(l.logPower(r, id, op.Epsilon), nil, r.shape)
	if !v.output {
		e = l.tensorExpr(l.roundTerm(v, e), nil, r.shape) // it is not right to more bits than one table has
	}
	v.pending = e
}

// logPower is the logarithm of the sum of the squares of the rows of a tensor, and
// epsilon; of a sum that is 0 that of a small part of a unit's square.
func (l *builder) logPower(r rows, id model.TensorID, epsilon float64) model.TensorID {
	t := l.g.Tensors[id]
	// N is taken times 4^up, so that the epsilon keeps its leading bits, or the 1 in its
	// place is nothing beside a unit's square.
	up, most := 0, mostUp
	if epsilon == 0 {
		most = digitBits / 2
	}
	for eps := float64(epsilon * pow2(2*t.Frac)); eps*pow2(2*up) < 1<<leadBits && up < most; {
		up += digitBits / 2
	}
	unit := 2 * (t.Frac + up)
	least, _ := new(big.Float).SetFloat64(math.Round(epsilon * pow2(unit))).Int(nil)
	if least.Sign() == 0 {
		least.SetInt64(1)
	}
	greatest := big.NewInt(l.magnitude(id))
	greatest.Mul(greatest, greatest).Mul(greatest, big.NewInt(int64(r.count))).Lsh(greatest, uint(2*up)).Add(greatest, least)

	top := (29 - model.Log2Ceil(r.count)) / 2
	bits := limbBits(model.Log2Ceil(int(l.magnitude(id))), top)
	digits := l.digits("power", l.squares(r, l.limbs(id, bits, top, 1), bits, 2*up, least), greatest)
	e := l.logOfDigits(r.shape, digits, unit)
	bound := func(n *big.Int) int64 {
		x, _ := new(big.Float).SetInt(n).Float64()
		return int64(math.Round((elementary.Log(x) - float64(float64(unit)*math.Ln2)) * (1 << logBits)))
	}
	e.min, e.max = bound(least)-logSlack, bound(greatest)+logSlack
	return l.exact("logarithm of the power", e)
}

const (
	// mostUp bounds what a power is multiplied by for its epsilon, 4^mostUp.
	mostUp = 24
	// logSlack is more than a logarithm of a wide integer is off, in units of its scale.
	logSlack = 1 << (logBits - 10)
)
