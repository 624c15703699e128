package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// axis is the group of one output axis that follows one source axis.
func axis(out, in int) model.Group {
	return model.Group{Out: []int{out}, In: []int{in}, Strides: []int{1}}
}

// identityGroups are the groups of a view that keeps every axis.
func identityGroups(rank int) []model.Group {
	g := make([]model.Group, rank)
	for i := range g {
		g[i] = axis(i, i)
	}
	return g
}

// broadcastView views a tensor of shape in as one of shape out by NumPy's
// rules; nil if the shapes are equal.
func broadcastView(in, out []int) *model.View {
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
			v.Groups = append(v.Groups, axis(j, j-skip))
		default:
			v.Groups = append(v.Groups, model.Group{Out: []int{j}, In: []int{j - skip}, Strides: []int{0}})
		}
	}
	return v
}

// labelView views a tensor with one label an axis, each an axis of out, as one
// of shape out; the other axes broadcast.
func labelView(labels, out []int) *model.View {
	v := &model.View{}
	for j := range out {
		g := model.Group{Out: []int{j}, Strides: []int{0}}
		for i, lab := range labels {
			if lab == j {
				g = axis(j, i)
			}
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// reshapeView views a tensor of shape in as one of shape out with the same
// row-major entries. It splits both shapes into the smallest groups of axes of
// equal size, since the work of a group grows with its size; nil if the shapes
// are equal.
func reshapeView(in, out []int) *model.View {
	if slices.Equal(in, out) {
		return nil
	}
	v := &model.View{}
	i, o := 0, 0
	for i < len(in) || o < len(out) {
		g := model.Group{Map: model.MapReshape}
		a, b := 1, 1
		for {
			switch {
			case a < b || a == 1 && b == 1 && i < len(in):
				a *= in[i]
				g.In = append(g.In, i)
				i++
			case b < a || a == 1 && b == 1 && o < len(out):
				b *= out[o]
				g.Out = append(g.Out, o)
				o++
			}
			if a == b && (a > 1 || i == len(in) && o == len(out)) {
				break
			}
		}
		// Axes of dimension 1 that follow belong anywhere; take them when
		// nothing else is left.
		if model.Size(in[i:]) == 1 && model.Size(out[o:]) == 1 {
			for ; i < len(in); i++ {
				g.In = append(g.In, i)
			}
			for ; o < len(out); o++ {
				g.Out = append(g.Out, o)
			}
		}
		if len(g.In) == 1 && len(g.Out) == 1 {
			g = axis(g.Out[0], g.In[0])
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

// window is a view of one axis: output o, tap i reads source
// base + stride·o + dilation·i.
type window struct{ base, stride, dilation, taps int }

// summed is the group that sums the window's taps.
func (w window) summed(out, in int) model.Group {
	return model.Group{
		Out: []int{out}, In: []int{in}, Base: w.base, Strides: []int{w.stride},
		Sum: []model.SumIndex{{Dim: w.taps, Stride: w.dilation}},
	}
}

// tap is the group that reads tap i.
func (w window) tap(out, in, i int) model.Group {
	return model.Group{Out: []int{out}, In: []int{in}, Base: w.base + i*w.dilation, Strides: []int{w.stride}}
}

// spread is the group that has an output axis for the taps.
func (w window) spread(outTap, outPos, in int) model.Group {
	return model.Group{Out: []int{outTap, outPos}, In: []int{in}, Base: w.base, Strides: []int{w.dilation, w.stride}}
}
