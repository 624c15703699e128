package sites

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
)

// restrictions are those of constant tensors that several sums of a fork have, as when
// both limbs of a wide tensor are multiplied with the same weights: the weights are
// read once. A sum takes its tables with it, so the others get copies.
type restrictions map[string]*restricted

type restricted struct {
	uses   int // that are still to come
	values []field.QM31
}

// sharedRestrictions finds the restrictions that more than one sum has.
func sharedRestrictions(g *model.Graph, f *plan.Fork) restrictions {
	r := restrictions{}
	for i := range f.Sums {
		s := &f.Sums[i]
		for _, o := range []*plan.Operand{&s.A, &s.B} {
			if o == &s.B && s.View != nil || !g.Tensors[o.Tensor].Kind.Constant() {
				continue
			}
			k := restrictionKey(o)
			if r[k] == nil {
				r[k] = &restricted{}
			}
			r[k].uses++
		}
	}
	for k, x := range r {
		if x.uses < 2 {
			delete(r, k)
		}
	}
	return r
}

// restrictionKey tells restrictions apart: names of challenges stand for challenges.
func restrictionKey(o *plan.Operand) string { return fmt.Sprint(o.Tensor, o.Bound, o.Keep) }

// restrict makes the table of an operand.
func (s *Session) restrict(o *plan.Operand) backend.Table {
	x := s.shared[restrictionKey(o)]
	if x == nil {
		return s.p.restrict(s.restriction(o))
	}
	x.uses--
	if x.values != nil {
		values := x.values
		if x.uses > 0 {
			values = slices.Clone(values)
		} else {
			x.values = nil
		}
		return s.p.upload(values)
	}
	t := s.p.restrict(s.restriction(o))
	if x.values = s.p.download(t); x.values == nil {
		x.uses = 0 // it has failed
	}
	return t
}
