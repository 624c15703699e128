package graph

import (
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Take selects elements along an axis at computed indices, such as tokens. The second
// operand has the indices, whole numbers; negative ones count from the end. In the result
// its axes replace the axis.
type Take struct{ Axis int }

func (Take) takes() operands { return operands{2, 2, nil} }

func (t Take) infer(in []operandType) operandType {
	x, at := in[0].shape, in[1].shape
	checkAxes([]int{t.Axis}, len(x))
	d := in[1].dtype
	refuse.If(d.IsFloat() || d == Bool, "its indices have type %v", d)
	n := len(x) - 1 + len(at)
	refuse.If(n > MaxRank, "its output has %d axes", n)
	return operandType{shape: slices.Concat(x[:t.Axis], at, x[t.Axis+1:]), dtype: in[0].dtype}
}

func (t Take) eval(in []operand, shape []int) operand {
	at := make([]int, Size(in[1].shape))
	rows := in[0].shape[t.Axis]
	for i, v := range in[1].float64s() {
		if v != float64(int64(v)) || v < -float64(rows) || v >= float64(rows) {
			refuse.With("index %v of element %d: it takes whole numbers from %d to %d", v, i, -rows, rows-1)
		}
		if at[i] = int(v); v < 0 {
			at[i] += rows
		}
	}
	if s := in[0].stored; s != nil {
		width := Size(in[0].shape[1:])
		out := operand{shape: shape, w: make([]float32, len(at)*width)}
		for i, row := range at {
			s.Read(out.w[i*width:(i+1)*width], row*width)
		}
		return out
	}
	flat := slices.Concat(in[0].shape[:t.Axis], []int{len(at)}, in[0].shape[t.Axis+1:])
	return Gather{t.Axis, at}.eval(in[:1], flat).as(shape)
}

// Take returns the elements of x at indices along an axis, which is replaced by the axes
// of indices. Constant and computed indices may count from the end. A computed index
// without an element gives 0. There, the number of indices times the length of the axis
// is at most 2^24, and the result is rounded as products are. Indices that are an input
// of the graph are public, and have none of these limits.
func (b *Builder) Take(x Value, axis int, indices Value) (made Value) {
	defer b.refused(&made)
	b.need(x, indices)
	t := b.Tensor(indices)
	if t == nil && !given(indices.v) {
		return b.pick(x, axis, indices)
	}
	if t == nil || t.I64 == nil {
		return b.emit(Take{axis}, x, indices)
	}
	b.needAxes(x, axis)
	in := b.Shape(x)
	at := make([]int, len(t.I64))
	for j, v := range t.I64 {
		if v < -int64(in[axis]) || v >= int64(in[axis]) {
			return b.Failf("index %d of an axis of %d", v, in[axis])
		}
		if at[j] = int(v); v < 0 {
			at[j] += in[axis]
		}
	}
	n := len(in) - 1 + len(t.Shape)
	refuse.If(n > MaxRank, "its output has %d axes", n)
	return b.Reshape(b.Gather(x, axis, at), slices.Concat(in[:axis], t.Shape, in[axis+1:]))
}

// Rows returns the length of the shortest axis that a Take indexes by the named value,
// possibly reshaped or converted; 0 if no Take does.
func (g *Graph) Rows(name string) int {
	rows := 0
	names := []string{name} // values that have the elements of the named one
	for _, n := range g.Nodes {
		switch op := n.Op.(type) {
		case Reshape, Convert, Identity:
			if slices.Contains(names, n.Inputs[0]) {
				names = append(names, n.Output)
			}
		case Take:
			if d := g.Shapes[n.Inputs[0]][op.Axis]; slices.Contains(names, n.Inputs[1]) && (rows == 0 || d < rows) {
				rows = d
			}
		}
	}
	return rows
}

// Masks reports whether an input of the graph is a mask of a Softmax, so that its elements
// are 0 and 1.
func (g *Graph) Masks(name string) bool {
	names := []string{name} // values that have the elements of the named one
	for _, n := range g.Nodes {
		if moves(n.Op) && slices.Contains(names, n.Inputs[0]) {
			names = append(names, n.Output)
		}
		if _, ok := n.Op.(Softmax); ok && slices.ContainsFunc(n.Inputs[1:], func(m string) bool { return slices.Contains(names, m) }) {
			return true
		}
	}
	return false
}
