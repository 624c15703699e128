package graph

import "slices"

// MaxComponents bounds the number of components of a magnitude √Σx² that is computed exactly. Sums
// of squares of longer rows are seldom much smaller than others, and computing their magnitude
// exactly costs more.
const MaxComponents = 8

// magnitudes replaces the root of a sum of a few squares, such as the magnitude of a spectrum's
// real and imaginary parts, by the inner product x·(x/|x|). In fixed point a small sum is rounded
// to a multiple of a unit, and its root is then wrong by up to the root of a unit. The Norm x/|x|
// has a small relative error for rows of any size, and so has the product.
func (b *Builder) magnitudes(n *node) {
	s, _ := function(n.out, Sqrt)
	if s == nil || !n.out.dtype.IsFloat() {
		return
	}
	b.At("Sqrt", n.name)
	if rows, ok := b.components(s); ok {
		shape := b.Shape(rows)
		last := len(shape) - 1
		unit := b.Norm(Norm{Axes: []int{last}, Sum: true}, rows)
		row, column := slices.Insert(slices.Clone(shape), last, 1), append(slices.Clone(shape), 1)
		if product := b.MatMul(b.Reshape(rows, row), b.Reshape(unit, column)); b.valid(product) {
			n.op, n.in = Reshape{n.out.shape}, []*value{product.v}
		}
	}
}

// components returns a value such that s is the sum of its squares along the last axis.
func (b *Builder) components(s *value) (Value, bool) {
	var parts []*value
	axis := -1 // the axis that is summed; −1 if parts are added
	if of, r := reduction(s); of != nil && r.Func == Sum && len(r.Axes) == 1 {
		x := squared(of)
		if x == nil || x.shape[r.Axes[0]] > MaxComponents {
			return Value{}, false
		}
		parts, axis = []*value{x}, r.Axes[0]
	} else if parts = squares(s, MaxComponents); len(parts) < 2 {
		return Value{}, false
	}
	for _, p := range parts {
		if axis < 0 && !slices.Equal(p.shape, s.shape) || !p.dtype.IsFloat() || len(p.shape)+2 > MaxRank ||
			6*len(parts)*Size(p.shape) > b.most-b.activations {
			return Value{}, false
		}
	}
	if axis >= 0 {
		var perm []int
		for i := range parts[0].shape {
			if i != axis {
				perm = append(perm, i)
			}
		}
		return b.Transpose(Value{parts[0]}, append(perm, axis)), true
	}
	columns := each(parts, func(p *value) Value { return b.Reshape(Value{p}, append(slices.Clone(p.shape), 1)) })
	return b.Concat(len(s.shape), columns...), true
}

// squared returns u if v is u², or nil.
func squared(v *value) *value {
	if n := operation(v, Mul); n != nil && same(n.in[0], n.in[1], 2) && n.in[0].tensor == nil {
		return n.in[0]
	}
	return nil
}

// squares returns values whose squares add up to v, at most most of them. It returns nil if v is
// not such a sum.
func squares(v *value, most int) []*value {
	if x := squared(v); x != nil {
		return []*value{x}
	}
	if n := operation(v, Add); n != nil && most > 1 {
		if left := squares(n.in[0], most-1); left != nil {
			if right := squares(n.in[1], most-len(left)); right != nil {
				return append(left, right...)
			}
		}
	}
	return nil
}
