package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Key tells the tables of operands apart: names of challenges stand for challenges.
func (o *Operand) Key() string { return fmt.Sprint(o.Tensor, o.Bound, o.Keep) }

// Shared finds the tables of constant tensors that several sums of a fork have, as when both
// limbs of a wide tensor are multiplied with the same weights, so that the weights are read
// once: the number of their uses, by Operand.Key.
func (f *Fork) Shared(g *model.Graph) map[string]int {
	uses := map[string]int{}
	for i := range f.Sums {
		s := &f.Sums[i]
		for _, o := range []*Operand{&s.A, &s.B} {
			if o == &s.B && s.View != nil || !g.Tensors[o.Tensor].Kind.Constant() {
				continue
			}
			uses[o.Key()]++
		}
	}
	for k, n := range uses {
		if n < 2 {
			delete(uses, k)
		}
	}
	return uses
}
