package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Key identifies the table of an operand within a sub-transcript: operands with the same key are the same table.
func (o *Operand) Key() string { return fmt.Sprint(o.Tensor, o.Bound, o.Keep) }

// Shared finds the tables of constant tensors that several sums use, so that these tensors
// are read only once for all of them. An example are weights that both digits of a wide
// tensor are multiplied with. It returns the number of uses, two or more, by Operand.Key.
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
