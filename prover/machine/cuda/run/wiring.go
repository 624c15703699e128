package run

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Views and products in the form that kernels read. It says which entry of an operand an entry of the
// output reads, for each summand: the address is a sum over groups of axes (kernels.Operand).

// wiring is the groups of axes of an operand, and the number of summands of its term.
type wiring struct {
	groups   []kernels.OperandGroup
	summands int
}

// viewWiring returns the wiring of a view v, with output shape out, of a dense tensor of shape in. lists uploads
// lists of indexes, and ids returns where an input with indexes lies on the device.
func viewWiring(v *model.View, in, out []int, lists func([]int32) kernels.Ptr, ids func(model.TensorID) kernels.Integers) wiring {
	w := wiring{summands: 1}
	if v == nil {
		return w
	}
	for i := range v.Groups {
		for _, s := range v.Groups[i].Sum {
			w.summands *= s.Dim
		}
	}
	div := w.summands // divided by the dimension of the next summed axis it is that axis's Div
	for i := range v.Groups {
		g := &v.Groups[i]
		x := kernels.OperandGroup{Base: int64(g.Base), Limit: 1}
		if len(g.In) > 0 {
			last := g.In[len(g.In)-1]
			x.Limit, x.Step = int64(in[last]), int64(model.Size(in[last+1:]))
		}
		switch g.Map {
		case model.MapAffine:
			for j, a := range g.Out {
				x.Axes = append(x.Axes, outAxis(out, a, g.Strides[j]))
			}
			for _, s := range g.Sum {
				div /= s.Dim
				x.Axes = append(x.Axes, kernels.OperandAxis{Sum: true, Div: div, Dim: s.Dim, Stride: s.Stride})
			}
		default: // the other maps take the row-major index of some output axes
			stride := 1
			for j := len(g.Out) - 1; j >= 0; j-- {
				x.Axes = append(x.Axes, outAxis(out, g.Out[j], stride))
				stride *= out[g.Out[j]]
			}
			x.Base = 0
			switch g.Map {
			case model.MapReshape:
				x.Limit = int64(stride)
			case model.MapIndex:
				index := make([]int32, len(g.Index))
				for o, at := range g.Index {
					index[o] = int32(at)
				}
				x.Table = kernels.Integers{At: lists(index), Width: 4}
			case model.MapPublic:
				x.Table = ids(g.Ids)
			}
		}
		w.groups = append(w.groups, x)
	}
	w.simplify(model.Size(out))
	return w
}

// labelWiring returns the wiring of an operand of a product. Its axes have labels: a label below the rank
// of out is that axis of the output, others are summed over, in the order of sums.
func labelWiring(shape, labels, out []int, sums []model.Label) wiring {
	w := wiring{summands: dims(sums)}
	x := kernels.OperandGroup{Step: 1}
	for a, label := range labels {
		s := stride(shape, a)
		if label < len(out) {
			x.Axes = append(x.Axes, outAxis(out, label, s))
			continue
		}
		at := slices.IndexFunc(sums, func(l model.Label) bool { return l.ID == label })
		x.Axes = append(x.Axes, kernels.OperandAxis{Sum: true, Div: dims(sums[at+1:]), Dim: shape[a], Stride: s})
	}
	w.groups = []kernels.OperandGroup{x}
	w.simplify(model.Size(out))
	return w
}

// outAxis returns output axis a, along which the operand has stride s.
func outAxis(out []int, a, s int) kernels.OperandAxis {
	return kernels.OperandAxis{Div: stride(out, a), Dim: out[a], Stride: s}
}

// simplify merges all groups that cannot leave their source axis into one, and axes that can be
// one, for an output of n entries. If the address is then just the index of the output, no group is left.
func (w *wiring) simplify(n int) {
	all := kernels.OperandGroup{Step: 1}
	var others []kernels.OperandGroup
	for _, g := range w.groups {
		g.Axes = slices.DeleteFunc(g.Axes, func(a kernels.OperandAxis) bool { return a.Dim == 1 || a.Stride == 0 })
		if !staysInside(g) {
			g.Axes = merged(g.Axes)
			others = append(others, g)
			continue
		}
		all.Base += g.Base * g.Step
		for _, a := range g.Axes {
			if a.Stride *= int(g.Step); a.Stride != 0 {
				all.Axes = append(all.Axes, a)
			}
		}
	}
	all.Axes = merged(all.Axes)
	w.groups = nil
	if len(others) == 0 && isOutput(all, n) {
		return
	}
	if len(others) == 0 || len(all.Axes) > 0 || all.Base != 0 {
		w.groups = append(w.groups, all)
	}
	w.groups = append(w.groups, others...)
	w.openLast(n)
}

// staysInside says whether the index of a group is always within its limit, so that the kernel need not check it. A group with a list of
// indexes does not count as such.
func staysInside(g kernels.OperandGroup) bool {
	least, most := g.Base, g.Base
	for _, a := range g.Axes {
		d := int64(a.Stride) * int64(a.Dim-1)
		least, most = least+min(d, 0), most+max(d, 0)
	}
	return g.Table.At == 0 && (g.Limit <= 0 || least >= 0 && most < g.Limit)
}

// isOutput says whether the index of a group is just the index of the output, which has n entries.
func isOutput(g kernels.OperandGroup, n int) bool {
	switch len(g.Axes) {
	case 0:
		return g.Base == 0 && n == 1
	case 1:
		a := g.Axes[0]
		return g.Base == 0 && !a.Sum && a.Div == 1 && a.Stride == 1 && a.Dim == n
	}
	return false
}

// openLast sets Dim to 0 for the outermost axes: the index divided by Div is below their dimension in any case, so the kernel need not
// take it modulo Dim.
func (w *wiring) openLast(n int) {
	for i := range w.groups {
		for j := range w.groups[i].Axes {
			a := &w.groups[i].Axes[j]
			all := n
			if a.Sum {
				all = w.summands
			}
			if a.Div*a.Dim == all {
				a.Dim = 0
			}
		}
	}
}

// merged sorts axes, the outermost first, and merges neighbours where one steps over just what the next one covers.
func merged(axes []kernels.OperandAxis) []kernels.OperandAxis {
	slices.SortStableFunc(axes, func(a, b kernels.OperandAxis) int {
		switch {
		case a.Sum == b.Sum:
			return cmp.Compare(b.Div, a.Div)
		case b.Sum:
			return -1
		}
		return 1
	})
	var out []kernels.OperandAxis
	for _, b := range axes {
		if k := len(out) - 1; k >= 0 {
			if a := &out[k]; a.Sum == b.Sum && a.Div == b.Div*b.Dim && a.Stride == b.Stride*b.Dim {
				a.Div, a.Dim, a.Stride = b.Div, a.Dim*b.Dim, b.Stride
				continue
			}
		}
		out = append(out, b)
	}
	return out
}
