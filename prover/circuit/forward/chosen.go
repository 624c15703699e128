package forward

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/matmul"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// chosen is a product of a step with an operand that is itself a product (model.Graph.IsProduct):
//
//	coef · Σ by[…]·x[…]·w[…].
//
// Each entry of by that is not 0 is taken by itself. It fixes the indexes of the axes of by, and what is left is a product
// of x and w. So nothing is computed for entries that are 0, such as those of experts that no token has chosen. Entries with the
// same indexes in w, such as those of all tokens that have chosen one expert, are multiplied together.
type chosen struct {
	by, x, w                   model.TensorID
	labelsBy, labelsX, labelsW []int // labels of the step's product
	coef                       int64
}

// newChosen returns the product p of a step as a product of three tensors, or nil if it is one of two.
func newChosen(g *model.Graph, p *model.Product) *chosen {
	c := &chosen{coef: p.Coef}
	z, labels := p.A, p.LabelsA
	c.w, c.labelsW = p.B, p.LabelsB
	if !g.IsProduct(z) {
		z, labels = p.B, p.LabelsB
		c.w, c.labelsW = p.A, p.LabelsA
	}
	q := g.Tensors[z].Product
	if q == nil {
		return nil
	}
	of := func(axes []int) []int {
		out := make([]int, len(axes))
		for i, a := range axes {
			out[i] = labels[a]
		}
		return out
	}
	c.by, c.x, c.labelsBy, c.labelsX = q.A, q.B, of(q.LabelsA), of(q.LabelsB)
	return c
}

// pick is an entry of by that is not 0: its value, and the offsets in x, in w and in the result of the entries with its indexes.
type pick struct {
	times     int64
	x, w, out int
}

// picks lists the entries of by that are not 0. Those with the same offset in w and the same value are next to each other.
func picks(by, x, w operand, out []int) []pick {
	places := func(o operand) [][]int { // by axis of by: the offsets in o of its indexes; nil for an axis that o does not have
		o = o.laidOut()
		list := make([][]int, len(by.labels))
		for i, l := range by.labels {
			if at := slices.Index(o.labels, l); at >= 0 {
				list[i] = o.axes[at]
			}
		}
		return list
	}
	inX, inW, inOut := places(x), places(w), places(resultOf(out))
	var list []pick
	index := make([]int, len(by.shape))
	for _, v := range ints.All(by.v) {
		if v != 0 {
			p := pick{times: int64(v)}
			for i, at := range index {
				if inX[i] != nil {
					p.x += inX[i][at] - inX[i][0]
				}
				if inW[i] != nil {
					p.w += inW[i][at] - inW[i][0]
				}
				if inOut[i] != nil {
					p.out += inOut[i][at]
				}
			}
			list = append(list, p)
		}
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < by.shape[i] {
				break
			}
			index[i] = 0
		}
	}
	slices.SortStableFunc(list, func(a, b pick) int { return cmp.Or(cmp.Compare(a.w, b.w), cmp.Compare(a.times, b.times)) })
	return list
}

// rest returns the contraction of x and w with index 0 on all axes of by. Adding the offsets of a pick gives the product for that entry.
func rest(by, x, w operand, out []int) *contraction {
	without := func(o operand) operand {
		o = o.laidOut()
		axes := slices.Clone(o.axes)
		shape := slices.Clone(o.shape)
		for i, l := range o.labels {
			if slices.Contains(by.labels, l) {
				axes[i], shape[i] = axes[i][:1], 1
			}
		}
		o.axes, o.shape = axes, shape
		return o
	}
	return contractionTo(without(resultOf(out)), without(x), without(w))
}

// add adds the product to acc, whose shape is out. values returns a tensor's values.
func (c *chosen) add(acc []int64, out []int, shape func(model.TensorID) []int, values func(model.TensorID) ints.Ints) {
	by, x, w := dense(values(c.by), shape(c.by), c.labelsBy), dense(values(c.x), shape(c.x), c.labelsX), dense(values(c.w), shape(c.w), c.labelsW)
	addPicks(acc, c.coef, picks(by, x, w, out), rest(by, x, w, out), x, w)
}

// addPicks adds the products of x and w for all picks to acc, those that share a part of w together. r is the rest.
func addPicks(acc []int64, coef int64, list []pick, r *contraction, x, w operand) {
	wide := ints.All(x.v)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].w == list[0].w && list[n].times == list[0].times {
			n++
		}
		switch data := w.v.(type) {
		case ints.Int8s:
			together(acc, coef, list[:n], r, wide, data)
		case ints.Int16s:
			together(acc, coef, list[:n], r, wide, data)
		case ints.Int32s:
			together(acc, coef, list[:n], r, wide, data)
		}
		list = list[n:]
	}
}

// together adds the products for picks with the same offset in w and the same value: the rows of one product of matrices.
func together[T ints.Integer](acc []int64, coef int64, list []pick, r *contraction, x []int32, w []T) {
	a, b := r.a, r.b
	free, out := make([]int, 0, len(list)*len(a.free)), make([]int, 0, len(list)*len(a.free))
	for _, p := range list {
		for i := range a.free {
			free, out = append(free, p.x+a.free[i]), append(out, p.out+a.out[i])
		}
	}
	matmul.Int(acc, coef*list[0].times, r.to,
		matmul.Operand[int32]{Data: x, Batch: a.batch, Free: free, K: a.k, Out: out},
		matmul.Operand[T]{Data: w[list[0].w:], Batch: b.batch, Free: b.free, K: b.k, Out: b.out})
}

// addRow adds row at of the product to acc, whose shape is that of a row.
func (c *chosen) addRow(r *Rows, p *rowProduct, acc []int64, shape []int, at int) {
	by, x, w := p.a.shaped(r, p.a.operand(r, at)), p.b.shaped(r, p.b.operand(r, at)), p.by.shaped(r, p.by.operand(r, at))
	if by.axes != nil {
		by = dense(r.all(c.by), by.shape, by.labels)
	}
	list, product := picks(by, x, w, shape), rest(by, x, w, shape)
	if !r.isRows(&p.by, product, w) {
		addPicks(acc, p.Coef, list, product, x, w)
		return
	}
	n, k := len(product.b.free), len(product.b.k)
	m, data := r.matrixOf(c.w, w.v, k), ints.All(x.v)
	for _, e := range list {
		m.Part(e.w/k, n).AddTimes(acc[e.out:][:n], p.Coef*e.times, data[e.x+product.a.free[0]+product.a.k[0]:][:k])
	}
}

// isRows reports whether each pick multiplies a vector by adjacent rows of a fixed tensor w, seen as a matrix with rows of len(c.b.k)
// entries.
func (r *Rows) isRows(f *rowFactor, c *contraction, w operand) bool {
	return w.axes == nil && w.v.Len()%len(c.b.k) == 0 && r.areRows(f, c, c.b, c.a)
}
