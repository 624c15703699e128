package fixed

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// KeptLabels returns the labels and dimensions of an operand without the axes
// of dimension 1 that broadcast to a longer axis of the output. labels has one
// label for each axis of shape.
func KeptLabels(shape, labels, out []int) (kept, dims []int) {
	for i, lab := range labels {
		if lab < len(out) && shape[i] == 1 && out[lab] > 1 {
			continue
		}
		kept = append(kept, lab)
		dims = append(dims, shape[i])
	}
	return kept, dims
}

// BroadcastLabels returns the labels of an operand that broadcasts to shape
// out, and the operand's shape, both without the axes of dimension 1 that
// broadcast (a product has no label for those).
func BroadcastLabels(shape, out []int) (labels, kept []int) {
	return KeptLabels(shape, model.Axes(len(out))[len(out)-len(shape):], out)
}

// ColumnView is the view of a matrix whose column j is column index[j] of the
// source, or zeros if index[j] is −1.
func ColumnView(index []int) *model.View {
	return &model.View{Groups: []model.Group{Axis(0, 0), {Out: []int{1}, In: []int{1}, Map: model.MapIndex, Index: index}}}
}

// Axis is the group of one output axis that follows one source axis.
func Axis(out, in int) model.Group {
	return model.Group{Out: []int{out}, In: []int{in}, Strides: []int{1}}
}

// BroadcastView views a tensor of shape in as one of shape out by NumPy's
// rules; nil if the shapes are equal.
func BroadcastView(in, out []int) *model.View {
	if slices.Equal(in, out) {
		return nil
	}
	v := &model.View{}
	skip := len(out) - len(in)
	for j := range out {
		switch {
		case j < skip:
			v.Groups = append(v.Groups, model.Group{Out: []int{j}, Strides: []int{0}})
		case in[j-skip] == out[j]:
			v.Groups = append(v.Groups, Axis(j, j-skip))
		default:
			v.Groups = append(v.Groups, model.Group{Out: []int{j}, In: []int{j - skip}, Strides: []int{0}})
		}
	}
	return v
}

// SumView is the view that sums a tensor of shape in along some axes. If keep is set, the result has an axis of
// dimension 1 in place of each. count is how many entries each sum has.
func SumView(in, axes []int, keep bool) (v *model.View, count int) {
	v, count = &model.View{}, 1
	out := 0
	for i, d := range in {
		g := Axis(out, i)
		if slices.Contains(axes, i) {
			count *= d
			g = model.Group{In: []int{i}, Sum: []model.SumIndex{{Dim: d, Stride: 1}}}
			if keep {
				g.Out, g.Strides = []int{out}, []int{0}
			}
		}
		out += len(g.Out)
		v.Groups = append(v.Groups, g)
	}
	return v, count
}

// Permuted is the view whose axis j is axis perm[j] of the source.
func Permuted(perm []int) *model.View {
	v := &model.View{}
	for j, i := range perm {
		v.Groups = append(v.Groups, Axis(j, i))
	}
	return v
}

// LabelView views a tensor as one of shape out. labels has the axis of out for
// each axis of the tensor; along the other axes of out the tensor repeats.
func LabelView(labels, out []int) *model.View {
	v := &model.View{}
	for j := range out {
		g := model.Group{Out: []int{j}, Strides: []int{0}}
		for i, lab := range labels {
			if lab == j {
				g = Axis(j, i)
			}
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// ReshapeView views a tensor of shape in as one of shape out with the same
// row-major entries. It splits both shapes into the smallest groups of axes of
// equal size, since the work of a group grows with its size.
func ReshapeView(in, out []int) *model.View {
	v := &model.View{}
	i, o := 0, 0
	for i < len(in) || o < len(out) {
		from, to := i, o
		if i, o = sameSize(in, out, i, o); model.Size(in[i:]) == 1 && model.Size(out[o:]) == 1 {
			i, o = len(in), len(out) // only axes of dimension 1 are left, which may be in any group: they go into this one
		}
		g := Axis(to, from)
		if i != from+1 || o != to+1 {
			g = model.Group{Map: model.MapReshape, In: slices.Concat(model.Axes(i)[from:]), Out: slices.Concat(model.Axes(o)[to:])} // nil for none
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// sameSize returns the ends of the shortest parts of two shapes, beginning at axes i and o, that have the same number of
// entries. That is more than one, unless both shapes end first.
func sameSize(in, out []int, i, o int) (int, int) {
	a, b := 1, 1
	for {
		switch {
		case a < b || a == 1 && b == 1 && i < len(in):
			a *= in[i]
			i++
		case b < a || a == 1 && b == 1 && o < len(out):
			b *= out[o]
			o++
		}
		if a == b && (a > 1 || i == len(in) && o == len(out)) {
			return i, o
		}
	}
}

// Window is a view of one axis: output o, tap i reads source
// base + stride·o + dilation·i.
type Window struct{ Base, Stride, Dilation, Taps int }

// Summed is the group that sums the taps of each window.
func (w Window) Summed(out, in int) model.Group {
	return model.Group{
		Out: []int{out}, In: []int{in}, Base: w.Base, Strides: []int{w.Stride},
		Sum: []model.SumIndex{{Dim: w.Taps, Stride: w.Dilation}},
	}
}

// Tap is the group that reads tap i.
func (w Window) Tap(out, in, i int) model.Group {
	return model.Group{Out: []int{out}, In: []int{in}, Base: w.Base + i*w.Dilation, Strides: []int{w.Stride}}
}

// Spread is the group with two output axes: outTap for the taps of a window, and outPos for the windows.
func (w Window) Spread(outTap, outPos, in int) model.Group {
	return model.Group{Out: []int{outTap, outPos}, In: []int{in}, Base: w.Base, Strides: []int{w.Dilation, w.Stride}}
}
