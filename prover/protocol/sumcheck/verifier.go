package sumcheck

import (
	"errors"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// ErrFinal is the reason Verify fails with: the evaluations sent at the end do
// not add up to the running claim.
var ErrFinal = errors.New("sumcheck: the final evaluations do not give the running claim")

// formMessage is a message as a verifier sees it.
type formMessage [4]transcript.Form

// at returns H(x), where c_1 is what makes H(0) + H(1) the running claim: claim − 2·c_0 − c_2 − c_3.
func (m *formMessage) at(x field.QM31, claim transcript.Form) transcript.Form {
	square := x.Square()
	h := claim.Mul(x).Add(m[0].Mul(field.One.Sub(x.Double()))).Add(m[2].Mul(square.Sub(x)))
	return h.Add(m[3].Mul(square.Mul(x).Sub(x)))
}

// Verify checks the sums of the shapes, whose claims and eq points must have been
// absorbed (or follow from what has been), and returns the evaluation claims to
// which they are reduced. On failure it fails r, and the result is meaningless. In a masked
// transcript the last check, on the running claim, becomes an equation on the reader's tape.
//
// A shape with more eq variables than variables is a programmer's error and
// panics.
func Verify(r *transcript.Reader, shapes []Shape) []Final {
	if len(shapes) == 0 {
		return nil
	}
	plan := newSchedule(shapes)
	gamma := field.Powers(field.One, r.Challenge(), len(shapes))

	var claim transcript.Form
	// join adds the claims of the instances that join in a round to the running claim.
	join := func(round int) {
		for i := range shapes {
			if plan.joins[i] == round {
				claim = claim.Add(shapes[i].Claim.Mul(gamma[i]))
			}
		}
	}
	challenges := make([]field.QM31, plan.rounds)
	for round := range challenges {
		join(round)
		var m formMessage
		m[0], m[2] = r.Form(), r.Form()
		if plan.degrees[round] == 3 {
			m[3] = r.Form()
		}
		challenges[round] = r.Challenge()
		claim = m.at(challenges[round], claim)
	}
	join(plan.rounds)

	finals := make([]Final, len(shapes))
	var sum transcript.Form
	var eqs eqValues
	for i := range shapes {
		s, f := &shapes[i], &finals[i]
		f.Point, f.A = challenges[plan.joins[i]:], r.Form()
		if r.Masked() && s.B != nil {
			f.B = transcript.Known(s.B(f.Point))
		} else {
			f.B = r.Form()
		}
		eq := eqs.at(s.Eq, f.Point)
		sum = sum.Add(f.A.Product(f.B).Mul(gamma[i].Mul(eq)))
	}
	r.Zero(sum.Sub(claim), ErrFinal)
	return finals
}

// eqValues remembers values of eq, since many sums have the same eq point. Lists of coordinates are told apart by where they are
// in memory.
type eqValues map[eqKey]field.QM31

// eqKey has the addresses of the first coordinates of both arguments of eq, and the number of these.
type eqKey struct {
	eq, point *field.QM31
	n         int
}

// at returns eq of the list and of as many first coordinates of the point.
func (e *eqValues) at(eq, point []field.QM31) field.QM31 {
	if len(eq) == 0 {
		return field.One
	}
	key := eqKey{&eq[0], &point[0], len(eq)}
	v, known := (*e)[key]
	if !known {
		if *e == nil {
			*e = eqValues{}
		}
		v = poly.Eq(eq, point[:len(eq)])
		(*e)[key] = v
	}
	return v
}
