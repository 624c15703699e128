package whir

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// TestElements: terms of a list of elements have the value that they have one by one, in rows of any length and over several,
// and a list that is not in its tree is refused.
func TestElements(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, shift := range []int{0, 2} {
		s := hidingShape{rowVars: 10, fixed: 2, witness: 3, shift: shift, tailLog: 2, blowup: 2}
		o, err := s.open(rng)
		if err != nil {
			t.Fatal(err)
		}
		_, layouts := o.committed()
		row := uint64(1) << layouts[1].RowVars
		eval := func(terms Terms, point []field.QM31) (field.QM31, error) {
			return (&statement{params: o.params, layouts: layouts, rowOffsets: o.offsets, terms: terms}).evalTerms(point)
		}
		point := make([]field.QM31, o.params.NumVars())
		for i := range point {
			point[i] = randomQM31(rng)
		}
		for _, n := range []int{0, 1, 3, 64, 65, 2*int(row)/limbs + 5} {
			for _, first := range []uint64{0, row} {
				e := &Elements{Terms: o.terms, Tree: 1, Offset: first}
				list := append(List{}, o.terms...)
				for i := range n {
					e.Weights = append(e.Weights, randomQM31(rng))
					list = append(list, LimbsTerm(e.Weights[i], 1, first+uint64(limbs*i)))
				}
				want, err := eval(list, point)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := eval(e, point); err != nil || got != want {
					t.Errorf("rows of %d values, %d elements from %d on: another value (%v)", row, n, first, err)
				}
				at := 0
				e.Range(len(o.terms)-1, e.Len(), func(term *Term) {
					if i := len(o.terms) - 1 + at; term.Coef != list[i].Coef || term.Offset != list[i].Offset {
						t.Errorf("term %d is another", i)
					}
					at++
				})
			}
		}
		weights := make([]field.QM31, 5)
		for _, e := range []*Elements{
			{Terms: o.terms, Weights: weights, Tree: 2}, {Terms: o.terms, Weights: weights, Tree: -1},
			{Terms: o.terms, Weights: weights, Tree: 1, Offset: limbs},
			{Terms: o.terms, Weights: weights, Tree: 1, Offset: 1 << 40},
			{Terms: o.terms, Weights: make([]field.QM31, 1<<14), Tree: 1, Offset: row},
		} {
			if _, err := eval(e, point); !errors.Is(err, errTerm) {
				t.Errorf("%d elements from %d on, tree %d: %v", len(e.Weights), e.Offset, e.Tree, err)
			}
		}
	}
}
