package graph

import (
	"math"
	"reflect"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// recognise finds groups of small operators that compute one of the following, and replaces each
// group by one operator or a few that lose less precision: a norm; a Softmax or its logarithm; the
// mask of a Softmax; a magnitude; the logarithm of a magnitude's square, or of weighted sums of
// such squares; squares of deviations; factors of channels that cancel each other. A group whose
// operators the limits do not allow stays as it is. recognise removes nodes that are not needed any
// more. Values change only by rounding, except that all numbers of a mask become infinite.
func (b *Builder) recognise() error {
	var refused NodesError
	b.rewrite(func(n *node) {
		if op, x, ok := normOf(n); ok {
			n.op, n.in = op, []*value{x}
		}
		if x, _ := function(n.out, Log); x != nil {
			if soft := operation(x, Softmax{}); soft != nil && len(soft.in) == 1 {
				n.op, n.in = LogSoftmax{OfSoftmax: true}, soft.in
			}
		}
		if x := logSoftmaxOf(n); x != nil {
			n.op, n.in = LogSoftmax{}, []*value{x}
		}
		if x, _ := function(n.out, Exp); x != nil {
			for _, op := range []LogSoftmax{{}, {OfSoftmax: true}} {
				if soft := operation(x, op); soft != nil {
					n.op, n.in = Softmax{}, soft.in
				}
			}
		}
		if _, ok := n.op.(Softmax); ok && len(n.in) == 1 {
			if err := refuse.Caught(func() { b.unmask(n) }); err != nil {
				refused = append(refused, NodeError{Op: Kind(n.op), Name: n.name, Reason: err.Error()})
			}
		}
	})
	if refused != nil {
		return refused
	}
	if b.rewrite(b.unadded); len(b.errs) > 0 {
		return b.errs
	}
	b.rewrite(func(n *node) { b.logarithm(n, b.logPower) })
	b.rewrite(func(n *node) { b.logarithm(n, b.logOfBands) })
	b.rewrite(b.magnitudes) // only the roots that norms and logarithms have left
	b.rewrite(b.channels)
	b.deviations()
	return nil
}

// rewrite calls change with every node, in order. change may alter the node, and add nodes,
// which then come before it. Nodes that are not needed afterwards are removed.
func (b *Builder) rewrite(change func(n *node)) {
	nodes := b.nodes
	b.nodes = make([]*node, 0, len(nodes))
	for _, n := range nodes {
		change(n)
		b.nodes = append(b.nodes, n)
	}
	b.dropUnneeded()
}

// readers counts how often nodes read each value.
func (b *Builder) readers() map[*value]int {
	count := map[*value]int{}
	for _, n := range b.nodes {
		for _, in := range n.in {
			count[in]++
		}
	}
	return count
}

// The functions below accept nil, for no value, and return nil for it.

// operator returns the operator that computes v; nil for an input or a constant.
func operator(v *value) Op {
	if v == nil || v.node == nil {
		return nil
	}
	return v.node.op
}

// operation returns the node that computes v, if its operator is op.
func operation(v *value, op Op) *node {
	if reflect.DeepEqual(operator(v), op) {
		return v.node
	}
	return nil
}

// function returns x and the parameters if v is f(x), and nil otherwise.
func function(v *value, f *Function) (*value, []float64) {
	if s, ok := operator(v).(Scalar); ok && s.Func == f {
		return v.node.in[0], s.Params
	}
	return nil, nil
}

// reduction returns the operand and the operator if v is the result of a Reduce, and nil
// otherwise.
func reduction(v *value) (*value, Reduce) {
	if r, ok := operator(v).(Reduce); ok {
		return v.node.in[0], r
	}
	return nil, Reduce{}
}

// same reports whether two values are the same, or computed by the same operators from
// the same values at most depth operators before.
func same(u, v *value, depth int) bool {
	if u == v {
		return true
	}
	if depth == 0 || u.node == nil || v.node == nil || len(u.node.in) != len(v.node.in) || !reflect.DeepEqual(u.node.op, v.node.op) {
		return false
	}
	for i := range u.node.in {
		if !same(u.node.in[i], v.node.in[i], depth-1) {
			return false
		}
	}
	return true
}

// constant returns the number that all elements of a constant equal. It returns false if
// they differ, or v is not a constant.
func constant(v *value) (float64, bool) {
	if v.tensor == nil || v.tensor.Len() == 0 {
		return 0, false
	}
	return v.tensor.Uniform()
}

// split returns the operands of a node if one is computed, and the other is a constant
// whose elements all equal one number: the computed operand and this number.
func split(n *node) (*value, float64, bool) {
	for i, v := range n.in {
		if c, ok := constant(v); ok && n.in[1-i].tensor == nil {
			return n.in[1-i], c, true
		}
	}
	return nil, 0, false
}

// normOf returns the norm that ends in node n, and the norm's operand. The node is x/√s,
// or x times 1/√s.
func normOf(n *node) (Norm, *value, bool) {
	switch n.op {
	case Div:
		if s, least, ok := rootOf(repeated(n.in[1])); ok {
			return norm(n, n.in[0], s, least)
		}
	case Mul:
		for i, v := range n.in {
			if s, ok := inverseRootOf(repeated(v)); ok {
				if op, x, ok := norm(n, n.in[1-i], s, 0); ok {
					return op, x, true
				}
			}
		}
	}
	return Norm{}, nil, false
}

// repeated returns u if v is an Expand of u with as many axes, and else v itself.
func repeated(v *value) *value {
	if _, ok := operator(v).(Expand); ok && len(v.shape) == len(v.node.in[0].shape) {
		return v.node.in[0]
	}
	return v
}

// tiny is the largest lower bound of a root that counts as a mere guard against division
// by zero.
const tiny = 1e-6

// rootOf returns s where v is √s, or max(√s, least) with a tiny least.
func rootOf(v *value) (s *value, least float64, ok bool) {
	if x, p := function(v, Clip); x != nil && p[0] >= 0 && p[0] <= tiny && math.IsInf(p[1], 1) {
		v, least = x, p[0]
	}
	s, _ = function(v, Sqrt)
	return s, least, s != nil
}

// inverseRootOf returns s where v is 1/√s.
func inverseRootOf(v *value) (*value, bool) {
	if x, p := function(v, Pow); x != nil && p[0] == -0.5 {
		return x, true
	}
	for _, f := range [][2]*Function{{Reciprocal, Sqrt}, {Sqrt, Reciprocal}} {
		if x, _ := function(v, f[0]); x != nil {
			s, _ := function(x, f[1])
			return s, s != nil
		}
	}
	if n := operation(v, Div); n != nil {
		if c, ok := constant(n.in[0]); ok && c == 1 && slices.Equal(n.in[1].shape, v.shape) {
			s, _ := function(n.in[1], Sqrt)
			return s, s != nil
		}
	}
	return nil, false
}

// norm returns the norm that n is, and its operand, if n is x/max(√s, least) and s is the
// mean or sum of x², possibly plus an epsilon. least² counts as an epsilon.
func norm(n *node, x, s *value, least float64) (Norm, *value, bool) {
	op := Norm{Epsilon: least * least}
	if add := operation(s, Add); add != nil && least == 0 {
		v, eps, ok := split(add)
		if !ok || eps < 0 || !slices.Equal(v.shape, s.shape) {
			return Norm{}, nil, false
		}
		s, op.Epsilon = v, eps
	}
	squares, axes, sum, ok := reduced(s)
	if !ok || !slices.Equal(n.out.shape, x.shape) || !x.dtype.IsFloat() {
		return Norm{}, nil, false
	}
	square := operation(squares, Mul)
	if square == nil || !same(square.in[0], x, 2) || !same(square.in[1], x, 2) {
		return Norm{}, nil, false
	}
	op.Axes, op.Sum = axes, sum
	// If x is itself u − mean(u), it is a LayerNorm of u.
	if sub := operation(x, Sub); sub != nil && !sum {
		mean, over, sum, ok := reduced(repeated(sub.in[1]))
		if ok && !sum && mean == sub.in[0] && slices.Equal(over, axes) {
			op.Centred = true
			return op, mean, true
		}
	}
	return op, x, true
}

// reduced returns x and axes if v is the mean of x along axes, or the sum (then sum is
// set), and the axes are kept with dimension 1. A sum times 1/count is a mean.
func reduced(v *value) (x *value, axes []int, sum, ok bool) {
	scale, shape := 1.0, v.shape
	if n := operation(v, Mul); n != nil {
		if v, scale, ok = split(n); !ok || !slices.Equal(v.shape, shape) {
			return nil, nil, false, false
		}
	}
	if _, ok := operator(v).(Reshape); ok {
		v = v.node.in[0]
	}
	x, r := reduction(v)
	if x == nil || r.Func > Mean {
		return nil, nil, false, false
	}
	kept := Reduce{Axes: r.Axes, Keep: true}.shape(x.shape)
	count := float64(Norm{Axes: r.Axes}.Count(x.shape))
	switch {
	case !slices.Equal(shape, kept):
		return nil, nil, false, false
	case r.Func == Sum && scale == float64(float32(1/count)):
		return x, r.Axes, false, true
	case scale == 1:
		return x, r.Axes, r.Func == Sum, true
	}
	return nil, nil, false, false
}

// masked is the largest number that counts as a mask when it is added to a score or
// replaces one.
const masked = -1e4

// unmask removes the masks from the scores of a Softmax n, and gives the node a mask of 0
// and 1 instead. A mask is a constant with entries of at most masked that is added to the
// scores, or from which a Where takes entries in place of scores. Masks computed from
// truth values (openMaskOf) are removed as well, and become one operand each.
func (b *Builder) unmask(n *node) {
	scores, mask := n.in[0], (*Tensor)(nil)
	var open []*value
	for {
		if x, m := openMaskOf(scores); x != nil && len(open) < mostMasks-1 {
			scores, open = x, append(open, m)
			continue
		}
		x, m, rest := b.maskOf(scores)
		if x == nil {
			break
		}
		if mask != nil {
			m = both(mask, m)
		}
		scores, mask = x, m
		if rest != nil { // the numbers that the constant adds to the scores that it does not mask
			c := &value{name: b.unique(n.name + "/bias"), shape: rest.Shape, dtype: Float, tensor: rest}
			scores = b.computedBy(Add, b.unique(n.name+"/scores"), x.shape, x.dtype, x, c)
			break
		}
	}
	n.in = append([]*value{scores}, open...)
	empty := n.op.(Softmax).Empty
	if len(open) > 0 { // computed masks may mask a whole row
		n.op = Softmax{Empty: true}
	}
	if mask == nil {
		return
	}
	checkMask(operandType{shape: mask.Shape, dtype: Bool, value: mask}, scores.shape, empty)
	n.in = append(n.in, &value{name: b.unique(n.name + "/mask"), shape: mask.Shape, dtype: Bool, tensor: mask})
}

// openMaskOf returns x and mask if v is x + (1 − mask)·c, with c far below any score
// and a computed mask of 0 and 1; nil otherwise.
func openMaskOf(v *value) (x, mask *value) {
	sum := operation(v, Add)
	if sum == nil {
		return nil, nil
	}
	for i, term := range sum.in {
		x := sum.in[1-i]
		product := operation(term, Mul)
		if product == nil || x.tensor != nil || !slices.Equal(x.shape, v.shape) {
			continue
		}
		for j, c := range product.in {
			rest := operation(product.in[1-j], Sub)
			if c.tensor != nil && below(c.tensor) && rest != nil && isOne(rest.in[0].tensor) && truth(rest.in[1]) {
				return x, rest.in[1]
			}
		}
	}
	return nil, nil
}

// isOne reports whether t is not nil and all of its elements are 1.
func isOne(t *Tensor) bool {
	return t != nil && t.all(func(x float64) bool { return x == 1 })
}

// truth reports whether v is not constant and has only 0 and 1. It assumes that an
// integer input that the model uses as a mask has only 0 and 1.
func truth(v *value) bool {
	switch {
	case v.tensor != nil:
		return false
	case v.dtype == Bool:
		return true
	case v.node == nil:
		return !v.dtype.IsFloat()
	case moves(v.node.op):
		return truth(v.node.in[0])
	}
	return false
}

// moves says whether an operator of one operand only moves, repeats or leaves out
// elements.
func moves(op Op) bool {
	switch op.(type) {
	case Reshape, Convert, Identity, Transpose, Expand, Tile, Slice, Gather:
		return true
	}
	return false
}

// both returns the mask that is 1 where both masks are 1.
func both(x, y *Tensor) *Tensor {
	shape := broadcast(x.Shape, y.Shape)
	return &Tensor{Shape: shape, DType: Bool, I64: zipWith(x.I64, y.I64, x.Shape, y.Shape, shape, func(a, b int64) int64 { return a * b })}
}

// maskOf returns the scores x of which v is a masked version, the mask (1 where a score
// counts), and the numbers that v adds to the scores besides (nil if they are all 0). x
// is nil if v masks nothing.
func (b *Builder) maskOf(v *value) (x *value, mask, rest *Tensor) {
	if n := operation(v, Add); n != nil {
		for i, c := range n.in {
			if x = n.in[1-i]; c.tensor == nil || x.tensor != nil || !slices.Equal(x.shape, v.shape) {
				continue
			}
			if mask, rest = additive(c.tensor); mask != nil && b.spend(2*c.tensor.Len()) {
				return x, mask, rest
			}
		}
	}
	if n := operation(v, Where{}); n != nil {
		for i, c := range n.in[1:] {
			cond := n.in[0].tensor
			if x = n.in[2-i]; c.tensor == nil || x.tensor != nil || !slices.Equal(x.shape, v.shape) || !below(c.tensor) {
				continue
			}
			if i == 1 { // the constant is where the condition does not hold
				return x, cond, nil
			}
			if !b.spend(cond.Len()) {
				continue
			}
			mask = &Tensor{Shape: cond.Shape, DType: Bool, I64: slices.Clone(cond.I64)}
			for j := range mask.I64 {
				mask.I64[j] = 1 - mask.I64[j]
			}
			return x, mask, nil
		}
	}
	if operation(v, Concat{len(v.shape) - 1}) != nil {
		x, mask = b.maskOfPart(v)
		return x, mask, nil
	}
	return nil, nil, nil
}

// maskOfPart is maskOf for scores that a Concat joins with others along the last axis, such as
// attention sinks. The mask is 1 for the others.
func (b *Builder) maskOfPart(v *value) (x *value, mask *Tensor) {
	from, all := 0, v.shape[len(v.shape)-1]
	for i, part := range v.node.in {
		width := part.shape[len(part.shape)-1]
		scores, m, rest := b.maskOf(part)
		if scores == nil || rest != nil {
			from += width
			continue
		}
		if len(m.Shape) == 0 || !b.spend(Size(m.Shape[:len(m.Shape)-1])*all) {
			return nil, nil
		}
		own := m.Shape[len(m.Shape)-1]
		mask = &Tensor{Shape: append(slices.Clone(m.Shape[:len(m.Shape)-1]), all), DType: Bool, I64: make([]int64, Size(m.Shape[:len(m.Shape)-1])*all)}
		for j := range mask.I64 {
			mask.I64[j] = 1
			if k := j%all - from; k >= 0 && k < width {
				mask.I64[j] = m.I64[j/all*own+min(k, own-1)]
			}
		}
		in := slices.Clone(v.node.in)
		in[i] = scores
		return b.computedBy(v.node.op, b.unique(v.name+"/scores"), v.shape, v.dtype, in...), mask
	}
	return nil, nil
}

// below reports whether all elements are at most masked, or NaN.
func below(c *Tensor) bool {
	return c.all(func(x float64) bool { return !(x > masked) })
}

// additive splits a constant that is added to scores into a mask and the numbers that
// it adds besides; mask is nil if it masks nothing.
func additive(c *Tensor) (mask, rest *Tensor) {
	mask = &Tensor{Shape: c.Shape, DType: Bool, I64: make([]int64, c.Len())}
	some := false
	for i := range mask.I64 {
		if y := c.At(i); y <= masked {
			some = true
		} else {
			mask.I64[i] = 1
			if y != 0 && rest == nil {
				rest = &Tensor{Shape: c.Shape, DType: Float, F32: make([]float32, c.Len()), Public: c.Public}
			}
			if rest != nil {
				rest.F32[i] = float32(y)
			}
		}
	}
	if !some {
		return nil, nil
	}
	return mask, rest
}
