package quantise

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerTest, always[graph.Test](traits{jumps: true})) }

// directBits is the largest table that a sign is looked up in as it is: wider
// accumulators are cut, and the sign is that of their upper bits.
const directBits = 14

// lowerTest lowers a comparison with 0, which is exact: of the accumulator of the
// operand, before anything is rounded, or in the table of the function that this is.
func lowerTest(l *lowering, n *graph.Node, op graph.Test, v *value) {
	x := l.values[n.Inputs[0]]
	if x.nonlinear() {
		l.apply(v, x, op.Kind(), curve{at: op.At}, nil)
		return
	}
	e := l.takeFlat(x)
	switch op {
	case graph.IsPositive:
		v.id = l.notNegative(v.name, e.plusConst(-1))
	case graph.IsNotNegative:
		v.id = l.notNegative(v.name, e)
	case graph.IsZero:
		v.pending = l.isZero(v.name, e)
	}
}

// plusConst is e + c, an integer on e's scale.
func (e *expr) plusConst(c int64) *expr {
	out := e.plus(&expr{acc: model.Acc{Const: c}, min: c, max: c})
	out.shape, out.frac = e.shape, e.frac
	return out
}

// notNegative is 1 where e ≥ 0 and 0 where e < 0, by look-ups: of e in a table of
// two pieces, or of e's upper bits, which ⌊e/2^s⌋ are, with the sign of e.
func (l *builder) notNegative(name string, e *expr) model.TensorID {
	out := l.witness(name, e.shape, 0, 0, 1)
	bits := tableBits(e.min, e.max)
	if bits <= directBits {
		l.direct(e, l.signTable(directBits), out)
		return out
	}
	shift := max(min(l.plan.shift(), bits-1), bits-model.MaxTableBits)
	rest := l.cut(e, shift, l.signTable(max(bits-shift, directBits)), out)
	l.inRange(rest, shift)
	return out
}

// isZero is 1 where e = 0 and 0 elsewhere: by a table of three pieces, or as
// [e ≥ 0] − [e ≥ 1].
func (l *builder) isZero(name string, e *expr) *expr {
	if tableBits(e.min, e.max) <= directBits {
		out := l.witness(name, e.shape, 0, 0, 1)
		l.direct(e, l.zeroTable(directBits), out)
		return l.tensorExpr(out, nil, e.shape)
	}
	least, beyond := l.notNegative(name, e), l.notNegative(name, e.plusConst(-1))
	z := l.tensorExpr(least, nil, e.shape).plus(l.tensorExpr(beyond, nil, e.shape).times(-1))
	z.min, z.max = 0, 1
	return z
}

// direct adds the look-up out = table(e).
func (l *builder) direct(e *expr, table model.TableID, out model.TensorID) {
	step := model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: e.acc, Lo: model.None, Table: table, Out: out, Den: model.None,
	}
	l.fit(&step, e)
	l.g.Steps = append(l.g.Steps, step)
}

// signTable is 1 on the keys from 0 on and 0 below.
func (l *builder) signTable(bits int) model.TableID {
	return l.aroundZero("not negative", bits, []model.Piece{{End: 1 << (bits - 1)}, {End: 1 << bits, Offset: 1}})
}

// zeroTable is 1 at the key 0 and 0 elsewhere.
func (l *builder) zeroTable(bits int) model.TableID {
	half := int64(1) << (bits - 1)
	return l.aroundZero("zero", bits, []model.Piece{{End: half}, {End: half + 1, Offset: 1}, {End: 2 * half}})
}

// aroundZero is a table of pieces on the keys [−2^(bits−1), 2^(bits−1)).
func (l *builder) aroundZero(name string, bits int, pieces []model.Piece) model.TableID {
	name = fmt.Sprintf("%s %d", name, bits)
	return l.addTable(name, model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Min: -1 << (bits - 1), Pieces: pieces, Values: model.None})
}
