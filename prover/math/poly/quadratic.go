package poly

import "github.com/prove-model/prove-model/prover/math/field"

// A Quadratic is the polynomial q[0] + q[1]·X + q[2]·X² in one variable, such as
// that of a sumcheck round over a product of two tables.
type Quadratic [3]field.QM31

// At returns q(x).
func (q *Quadratic) At(x field.QM31) field.QM31 {
	return q[2].Mul(x).Add(q[1]).Mul(x).Add(q[0])
}
