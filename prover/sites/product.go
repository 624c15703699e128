package sites

import (
	"sort"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

// contraction is a product at a point ρ of its output:
//
//	mask · Σ_{b,k} eq(ρ_b, b) · A~(b, k, ρ_A) · B~(b, k, ρ_B),
//
// b over the batch axes (in both operands and the output), k over the
// contracted ones (docs/protocol.md, "Products").
type contraction struct {
	p      *model.Product
	labels []int // summed labels in the order of the variables: batch first
	vars   []int // ⌈log2 d⌉ of each
	eq     []field.QM31
	mask   field.QM31           // of the output axes in neither operand
	free   map[int][]field.QM31 // part of ρ of each label that is not summed
}

func newContraction(g *model.Graph, p *model.Product, shape []int, rho []field.QM31) *contraction {
	parts := poly.SplitAxes(shape, rho)
	c := &contraction{p: p, mask: field.One, free: map[int][]field.QM31{}}
	uses, dims := map[int]int{}, map[int]int{}
	for i, l := range p.LabelsA {
		uses[l]++
		dims[l] = g.Tensors[p.A].Shape[i]
	}
	for i, l := range p.LabelsB {
		uses[l]++
		dims[l] = g.Tensors[p.B].Shape[i]
	}
	for l, d := range shape {
		switch uses[l] {
		case 0:
			if d&(d-1) != 0 {
				c.mask = c.mask.Mul(poly.MaskEval(parts[l], uint64(d)))
			}
		case 1:
			c.free[l] = parts[l]
		}
	}
	for l, n := range uses {
		if n == 2 {
			c.labels = append(c.labels, l)
		}
	}
	// Output axes come below contracted labels, so batch axes come first.
	sort.Ints(c.labels)
	for _, l := range c.labels {
		c.vars = append(c.vars, model.Log2Ceil(dims[l]))
		if l < len(shape) {
			c.eq = append(c.eq, parts[l]...)
		}
	}
	return c
}

// numVars returns the number of summed variables.
func (c *contraction) numVars() int {
	n := 0
	for _, v := range c.vars {
		n += v
	}
	return n
}

// restriction returns the table of one operand over the summed variables.
func (c *contraction) restriction(id model.TensorID, labels []int) backend.Restriction {
	r := backend.Restriction{Tensor: id, Bound: make([][]field.QM31, len(labels))}
	axis := map[int]int{}
	for i, l := range labels {
		if part, ok := c.free[l]; ok {
			if part == nil {
				part = []field.QM31{}
			}
			r.Bound[i] = part
		} else {
			axis[l] = i
		}
	}
	for _, l := range c.labels {
		r.Keep = append(r.Keep, axis[l])
	}
	return r
}

// operand returns the point of an operand at the end of the sumcheck.
func (c *contraction) operand(labels []int, end []field.QM31) []field.QM31 {
	summed := map[int][]field.QM31{}
	for i, l := range c.labels {
		summed[l], end = end[:c.vars[i]], end[c.vars[i]:]
	}
	var point []field.QM31
	for _, l := range labels {
		if part, ok := c.free[l]; ok {
			point = append(point, part...)
		} else {
			point = append(point, summed[l]...)
		}
	}
	return point
}
