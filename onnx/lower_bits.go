package onnx

import "github.com/prove-model/prove-model/graph"

// bitwise is the lowering of an operator on the bits of integers.
func bitwise(c graph.Comparison) func(*op) {
	return twoInputs(func(b *graph.Builder, x, y graph.Value) graph.Value { return b.Bitwise(c, x, y) })
}

// lowerBitShift moves the bits of integers by constant amounts.
func lowerBitShift(o *op) {
	left := choiceAttr(o, "direction", "", map[string]bool{"LEFT": true, "RIGHT": false})
	o.result(0, o.Shift(o.in(0), o.constantInput(1, "the amount"), left))
}

// lowerDet computes determinants by Laplace expansion along their first rows.
func lowerDet(o *op) {
	x, in := o.tensor(0)
	r := len(in)
	const most = 4
	o.failIf(r < 2 || in[r-1] != in[r-2] || in[r-1] < 1 || in[r-1] > most,
		"matrices of shape %v; square ones of up to %d rows are supported", in, most)
	n, batch := in[r-1], in[:r-2]
	entry := func(i, j int) graph.Value {
		return o.Reshape(o.SliceAxis(o.SliceAxis(x, r-2, i, 1, 1), r-1, j, 1, 1), batch)
	}
	var minor func(row int, columns []int) graph.Value
	minor = func(row int, columns []int) graph.Value {
		if len(columns) == 1 {
			return entry(row, columns[0])
		}
		var sum graph.Value
		for i, j := range columns {
			rest := without(columns, i)
			term := o.Mul(entry(row, j), minor(row+1, rest))
			switch {
			case i == 0:
				sum = term
			case i%2 == 1:
				sum = o.Sub(sum, term)
			default:
				sum = o.Add(sum, term)
			}
		}
		return sum
	}
	o.result(0, minor(0, upTo(0, n)))
}
