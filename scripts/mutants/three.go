package main

import (
	"slices"

	"github.com/prove-model/prove-model/internal/schema"
)

// threeFactors are keys with a tensor that a product defines, in ways that are valid or not. Their step is y[t, j] = Σ_{e,k}
// by[t, e]·x[t, k]·w[e, j, k], and the tensor is z = by·x.
func threeFactors() (list []built) {
	const by, x, w, z, y = 0, 1, 2, 3, 4
	for _, c := range []struct {
		name  string
		valid bool
		alter func(b *builder)
	}{
		{"a product of three", true, func(*builder) {}},
		{"a product of three, its operands exchanged", true, func(b *builder) {
			p := b.g.Steps[0].Accumulator.Products[0]
			p.A, p.B, p.LabelsA, p.LabelsB = p.B, p.A, p.LabelsB, p.LabelsA
		}},
		{"one operand without axes", true, func(b *builder) {
			b.g.Tensors[x].Shape, b.g.Tensors[z].Shape, b.g.Tensors[z].Product.LabelsB = nil, []uint64{2, 3}, nil
			b.g.Tensors[w].Shape = []uint64{3, 5}
			b.g.Steps[0].Accumulator.Products[0] = &schema.Product{Coefficient: 1, A: z, B: w, LabelsA: []uint32{0, 2}, LabelsB: []uint32{2, 1}}
		}},
		{"an axis in both operands", true, func(b *builder) {
			b.g.Tensors[x].Shape, b.g.Tensors[z].Product.LabelsB = []uint64{2, 3, 4}, []uint32{0, 1, 2}
		}},
		{"a sum beside the product", true, func(b *builder) {
			b.g.Steps[0].Accumulator.Constant = 7
			b.g.Steps[0].Accumulator.Products = append(b.g.Steps[0].Accumulator.Products, &schema.Product{Coefficient: -2, A: by, B: by, LabelsA: []uint32{0, 2}, LabelsB: []uint32{0, 2}})
		}},
		{"a factor of the tensor", false, func(b *builder) { b.g.Tensors[z].Product.Coefficient = 2 }},
		{"a factor of 0", false, func(b *builder) { b.g.Tensors[z].Product.Coefficient = 0 }},
		{"an operand that is the tensor", false, func(b *builder) { b.g.Tensors[z].Product.B = z }},
		{"an operand behind the tensor", false, func(b *builder) { b.g.Tensors[z].Product.A = y }},
		{"an operand that is not there", false, func(b *builder) { b.g.Tensors[z].Product.A = 9 }},
		{"an axis that no operand has", false, func(b *builder) { b.g.Tensors[z].Shape = []uint64{2, 3, 4, 1} }},
		{"an axis that the tensor has not", false, func(b *builder) {
			b.g.Tensors[z].Shape = []uint64{3, 4}
			b.g.Tensors[z].Product.LabelsA, b.g.Tensors[z].Product.LabelsB = []uint32{2, 0}, []uint32{2, 1}
		}},
		{"a label of two dimensions", false, func(b *builder) { b.g.Tensors[z].Product.LabelsB = []uint32{0, 1} }},
		{"a label beyond all", false, func(b *builder) { b.g.Tensors[z].Product.LabelsB = []uint32{0, 24} }},
		{"a product and a sum", false, func(b *builder) {
			b.g.Tensors[z].Definition = []*schema.Linear{term(1, b.input(0, 1, 2, 3, 4))}
		}},
		{"neither a product nor a sum", false, func(b *builder) { b.g.Tensors[z].Product = nil }},
		{"a fixed tensor that a product defines", false, func(b *builder) { b.g.Tensors[z].Kind = schema.Fixed }},
		{"an input that a product defines", false, func(b *builder) { b.g.Tensors[w].Kind, b.g.Tensors[w].Product = schema.Input, b.g.Tensors[z].Product }},
		{"a view of a product", false, func(b *builder) { b.virtual([]uint64{2, 3, 4}, term(1, z)) }},
		{"an output that is a product", false, func(b *builder) { b.g.Outputs = []uint32{z} }},
		{"a step that adds a product", false, func(b *builder) {
			b.g.Steps = append(b.g.Steps, &schema.Step{Kind: schema.Zero, Shape: []uint64{2, 3, 4}, Accumulator: sum(0, term(1, z), term(-1, z))})
		}},
		{"a product of a product", false, func(b *builder) {
			b.tensor(&schema.Tensor{Shape: []uint64{2, 3, 4}, Kind: schema.Virtual, Max: 9, Product: &schema.Product{Coefficient: 1, A: by, B: z, LabelsA: []uint32{0, 1}, LabelsB: []uint32{0, 1, 2}}})
		}},
		{"a step's product of two products", false, func(b *builder) {
			b.g.Steps[0].Accumulator.Products[0] = &schema.Product{Coefficient: 1, A: z, B: z, LabelsA: []uint32{0, 2, 3}, LabelsB: []uint32{0, 2, 3}}
		}},
		{"a maximum of a product", false, func(b *builder) {
			b.g.Steps = append(b.g.Steps, &schema.Step{Kind: schema.Maximum, Shape: []uint64{2, 3}, Accumulator: sum(0), Out: b.witness(9, 2, 3) + 1, Divisor: z + 1})
		}},
		{"a product of what a later step makes", false, func(b *builder) {
			late := b.witness(9, 2, 4)
			b.g.Tensors[late], b.g.Tensors[x] = b.g.Tensors[x], b.g.Tensors[late]
			b.g.Inputs = []uint32{by, w, late}
			b.g.Steps = append(b.g.Steps, &schema.Step{Kind: schema.Exact, Shape: []uint64{2, 4}, Accumulator: sum(0, term(1, late)), Out: x + 1})
		}},
	} {
		b := &builder{}
		b.input(0, 1, 2, 3)
		b.input(-9, 9, 2, 4)
		b.input(-5, 5, 3, 5, 4)
		b.tensor(&schema.Tensor{Shape: []uint64{2, 3, 4}, Kind: schema.Virtual, Min: -9, Max: 9,
			Product: &schema.Product{Coefficient: 1, A: by, B: x, LabelsA: []uint32{0, 1}, LabelsB: []uint32{0, 2}}})
		b.witness(1<<20, 2, 5)
		b.g.Steps = []*schema.Step{{Kind: schema.Exact, Shape: []uint64{2, 5}, Out: y + 1, Accumulator: &schema.Accumulator{Products: []*schema.Product{
			{Coefficient: 1, A: z, B: w, LabelsA: []uint32{0, 2, 3}, LabelsB: []uint32{2, 1, 3}}}}}}
		b.g.Outputs = []uint32{y}
		c.alter(b)
		g := b.g
		g.Tensors = slices.Clone(g.Tensors)
		list = append(list, built{name: c.name, valid: c.valid, graph: &g})
	}
	return list
}
