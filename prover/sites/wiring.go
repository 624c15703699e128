package sites

import (
	"sort"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
)

// wiring is a view at a point r of its output: a linear functional of the
// source,
//
//	View(src)~(r) = factor · Σ_x src~(bound, x) · Π_groups g_group(x).
//
// Groups that only rename variables bind source axes to coordinates of r; the
// others keep theirs in the sum (docs/protocol.md, "Wiring").
type wiring struct {
	in     []int
	factor field.QM31
	bound  [][]field.QM31 // by source axis; nil if kept
	keep   []int          // source axes in the sum, ascending
	groups []groupWeights // in the order of keep
	ones   field.QM31     // View(1…1)~(r)
}

// groupWeights is g_group, dense over the group's source axes.
type groupWeights struct {
	dims    []int
	weights []field.QM31
}

// newWiring evaluates the view's wiring at the point r of the output.
func newWiring(v *model.View, out, in []int, r []field.QM31) *wiring {
	parts := poly.SplitAxes(out, r)
	w := &wiring{in: in, factor: field.One, ones: field.One, bound: make([][]field.QM31, len(in))}
	groups := make([]*model.Group, len(v.Groups))
	for i := range v.Groups {
		groups[i] = &v.Groups[i]
	}
	sort.SliceStable(groups, func(i, j int) bool { return firstAxis(groups[i]) < firstAxis(groups[j]) })
	for _, g := range groups {
		inDims := pick(in, g.In)
		if g.Trivial(out, in) {
			segment := poly.JoinAxes(pick(parts, g.Out))
			for j, part := range poly.SplitAxes(inDims, segment) {
				w.bound[g.In[j]] = part
			}
			if v.Fill != 0 {
				w.ones = w.ones.Mul(poly.TensorMask(inDims, poly.SplitAxes(inDims, segment)))
			}
			continue
		}
		t := poly.OuterEq(pick(out, g.Out), pick(parts, g.Out))
		weights := make([]field.QM31, model.Size(inDims))
		g.ForEach(out, in, func(o, i int) { weights[i] = weights[i].Add(t[o]) })
		if v.Fill != 0 {
			sum := field.Zero
			for _, x := range weights {
				sum = sum.Add(x)
			}
			w.ones = w.ones.Mul(sum)
		}
		if len(weights) == 1 {
			w.factor = w.factor.Mul(weights[0])
			for _, a := range g.In {
				w.bound[a] = []field.QM31{}
			}
			continue
		}
		w.keep = append(w.keep, g.In...)
		w.groups = append(w.groups, groupWeights{inDims, weights})
	}
	return w
}

func firstAxis(g *model.Group) int {
	if len(g.In) == 0 {
		return -1
	}
	return g.In[0]
}

// vars returns the number of variables of the sum.
func (w *wiring) vars() int { return model.Vars(pick(w.in, w.keep)) }

// table returns factor·Π g_group over the padded cube of the kept axes.
func (w *wiring) table() []field.QM31 {
	t := []field.QM31{w.factor}
	for _, g := range w.groups {
		t = poly.Outer(t, poly.PadTable(g.weights, g.dims))
	}
	return t
}

// eval returns the MLE of table at a point, without building it.
func (w *wiring) eval(point []field.QM31) field.QM31 {
	v := w.factor
	for _, g := range w.groups {
		n := model.Vars(g.dims)
		e := poly.OuterEq(g.dims, poly.SplitAxes(g.dims, point[:n]))
		point = point[n:]
		sum := field.Zero
		for i, x := range g.weights {
			if !x.IsZero() {
				sum = sum.Add(x.Mul(e[i]))
			}
		}
		v = v.Mul(sum)
	}
	return v
}

// source returns the point of the source at which the sum's end, kept, lands.
func (w *wiring) source(kept []field.QM31) []field.QM31 {
	parts := append([][]field.QM31(nil), w.bound...)
	for j, part := range poly.SplitAxes(pick(w.in, w.keep), kept) {
		parts[w.keep[j]] = part
	}
	return poly.JoinAxes(parts)
}

func pick[T any](s []T, idx []int) []T {
	out := make([]T, len(idx))
	for i, j := range idx {
		out[i] = s[j]
	}
	return out
}
