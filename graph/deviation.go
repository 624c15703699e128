package graph

import "slices"

// deviations replaces an input's squared distances from constants, divided by variances: (x − θ)²·r, as in a Gaussian
// likelihood. In their place it puts squares of quotients, (z·√r/m + (μ − θ)·√r)² with z = (x − μ)·m, where μ and m are
// the means of θ and √r for each feature. The variance of one feature may be a millionth of another's, so that no scale
// holds the squares of both. The quotients are all of about one size, and z has the form of the standardised input with
// which models of tables begin.
func (b *Builder) deviations() {
	readers := b.readers()
	b.rewrite(func(n *node) {
		if x, theta, r, ok := deviation(n); ok && readers[x] == 1 {
			b.At(Kind(n.op), n.name)
			if y := b.quotients(x, n, theta, r); b.Valid(y) {
				n.op, n.in = Mul, []*value{y.v, y.v}
			}
		}
	})
}

// deviation returns x, θ and r if n is (x − θ)²·r with constants θ and r > 0. x must be an input that has features along
// its last axis; a Reshape may come between the input and the subtraction.
func deviation(n *node) (x, theta, r *value, ok bool) {
	d := operation(squared(n.in[0]), Sub)
	if n.op != Mul || !n.out.dtype.IsFloat() || d == nil || d.in[1].tensor == nil || n.in[1].tensor == nil ||
		!slices.Equal(d.out.shape, n.out.shape) {
		return nil, nil, nil, false
	}
	theta, r = d.in[1], n.in[1]
	x, moves := unmoved(d.in[0])
	turned := slices.ContainsFunc(moves, func(op Op) bool { _, ok := op.(Transpose); return ok })
	features := lastOf(n.out.shape)
	if turned || x.node != nil || x.tensor != nil || features < 2 || lastOf(x.shape) != features || lastOf(d.in[0].shape) != features ||
		lastOf(theta.shape) != features || lastOf(r.shape) != features || len(theta.shape) != len(r.shape) {
		return nil, nil, nil, false
	}
	return x, theta, r, r.tensor.positive()
}

// lastOf is the length of the last axis, 0 if there is none.
func lastOf(shape []int) int {
	if len(shape) == 0 {
		return 0
	}
	return shape[len(shape)-1]
}

// quotients returns z·√r/m + (μ − θ)·√r for an input x, where n is (x − θ)²·r.
func (b *Builder) quotients(x *value, n *node, theta, r *value) Value {
	root := b.Apply(Sqrt, Value{r})
	mean := func(v Value) Value { return b.Reduce(Mean, v, index(len(b.Shape(v))-1, 1), false) }
	centre, size := mean(Value{theta}), mean(root)
	_, moves := unmoved(squared(n.in[0]).node.in[0])
	z := b.moved(b.Mul(b.Sub(Value{x}, centre), size), moves)
	return b.Add(b.Mul(z, b.Div(root, size)), b.Mul(b.Sub(centre, Value{theta}), root))
}
