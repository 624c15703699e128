package bounds

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Argument has bounds for some consecutive steps of a circuit that intervals do not show, because they depend on what the
// steps compute together. Whoever makes an Argument answers for it: Check only checks Given.
type Argument struct {
	From, To int // the steps From, …, To − 1
	// Given has intervals in which tensors must lie for the rest to hold. Check checks that they do.
	Given map[model.TensorID]Interval
	// Results has intervals of the steps' results, and of virtual tensors that are made of these.
	Results map[model.TensorID]Interval
	// Sum is an interval of the sum of Products, entry by entry, if accumulators of later steps have all of these products, or
	// a multiple of them. No product contracts an axis. There may be no Products.
	Products []model.Product
	Sum      Interval
	// RowSums has bounds on the sum of the magnitudes of the entries in each row along the last axis of
	// a result.
	RowSums map[model.TensorID]int64
}

var errOrder = errors.New("arguments that are not in order")

// checkOrder checks that arguments are in the order of their steps, and that no step is in two of them.
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

// take records the bounds of an argument. It is an error if a tensor is not known to lie in the interval that the argument needs.
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

// knownSums returns an interval of the sum of those products of an accumulator for which an argument knows it, and which
// products these are. rank is the number of axes of the accumulator.
func (a *analysis) knownSums(products []model.Product, rank int) (all Interval, taken []bool) {
	taken = make([]bool, len(products))
	for _, x := range a.sums {
		c, which := multiple(products, x.Products)
		if slices.ContainsFunc(x.Products, func(p model.Product) bool { return sums(p, rank) }) {
			c = 0 // with rank axes a product would contract an axis, and the argument's Sum is not for that
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

// sums reports whether a product contracts an axis in an accumulator with rank axes.
func sums(p model.Product, rank int) bool {
	return slices.ContainsFunc(slices.Concat(p.LabelsA, p.LabelsB), func(l int) bool { return l >= rank })
}

// multiple looks for c times the products in sum among products. which has the indexes of those products; c is 0 if they are
// not all there.
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
	for i, at := range which { // no product may stand for two of sum
		for _, other := range which[:i] {
			if at == other {
				return 0, nil
			}
		}
	}
	return c, which
}
