package bounds

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Argument is what is known of some steps of a circuit for another reason than that
// intervals say so, because of what they compute together.
type Argument struct {
	From, To int // the steps, from the first one up to To, which is not one of them
	// Given are intervals that tensors must lie in for the rest to hold.
	Given map[model.TensorID]Interval
	// Results are intervals of the tensors that the steps make, or that are defined
	// by what they make.
	Results map[model.TensorID]Interval
	// Sum is an interval of the sum of products that accumulators of later steps take
	// in, entry by entry: none of them sums. There may be none.
	Products []model.Product
	Sum      Interval
	// RowSums bound the sum of the magnitudes of the entries along the last axis of
	// results.
	RowSums map[model.TensorID]int64
}

var errOrder = errors.New("arguments that are not in order")

// checkOrder checks that arguments are about different steps, in their order.
func checkOrder(g *model.Graph, arguments []*Argument) error {
	last := 0
	for _, x := range arguments {
		if x.From < last || x.To < x.From || x.To > len(g.Steps) {
			return errOrder
		}
		last = x.To
	}
	return nil
}

// take takes over what an argument says, if what it takes for granted is known.
func (a *analysis) take(x *Argument) error {
	for id, in := range x.Given {
		if i := a.tensor(id); !i.within(in) {
			return fmt.Errorf("steps from %d on: %q may be anything in [%d, %d], and their bounds are for [%d, %d]",
				x.From, a.g.Tensors[id].Name, i.Min, i.Max, in.Min, in.Max)
		}
	}
	for id, in := range x.Results {
		a.known[id] = &in
	}
	for id, most := range x.RowSums {
		a.rowSums[id] = most
	}
	if len(x.Products) > 0 {
		a.sums = append(a.sums, x)
	}
	return nil
}

// knownSums returns an interval of those products of an accumulator with so many axes of
// which arguments know the sum, and which of them these are.
func (a *analysis) knownSums(products []model.Product, rank int) (all Interval, taken []bool) {
	taken = make([]bool, len(products))
	for _, x := range a.sums {
		c, which := multiple(products, x.Products)
		if slices.ContainsFunc(x.Products, func(p model.Product) bool { return sums(p, rank) }) {
			c = 0 // here they are summed over an axis, there they are not
		}
		for _, i := range which {
			if taken[i] {
				c = 0
			}
		}
		if c == 0 {
			continue
		}
		for _, i := range which {
			taken[i] = true
		}
		all = all.Add(x.Sum.Scale(c))
	}
	return all, taken
}

// sums reports whether a product sums, in an accumulator with so many axes.
func sums(p model.Product, rank int) bool {
	return slices.ContainsFunc(slices.Concat(p.LabelsA, p.LabelsB), func(l int) bool { return l >= rank })
}

// multiple finds c times a sum of products among others, and where; c is 0 if it is not
// there.
func multiple(products, sum []model.Product) (c int64, which []int) {
	for _, p := range sum {
		at := -1
		for i, q := range products {
			if q.Coef != 0 && p.Coef != 0 && q.Coef%p.Coef == 0 && p.Same(q) && (c == 0 || q.Coef/p.Coef == c) {
				at = i
			}
		}
		if at < 0 {
			return 0, nil
		}
		c = products[at].Coef / p.Coef
		which = append(which, at)
	}
	for i, at := range which { // each of its own
		for _, other := range which[:i] {
			if at == other {
				return 0, nil
			}
		}
	}
	return c, which
}
