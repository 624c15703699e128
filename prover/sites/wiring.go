package sites

import (
	"sync"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/poly"
)

// factor returns what the groups with a source of one entry contribute at the
// point r of the output.
func factor(w *plan.Wiring, r []field.QM31) field.QM31 {
	parts := poly.SplitAxes(w.Out, r)
	v := field.One
	for _, g := range w.Single {
		v = v.Mul(groupWeight(g, w, parts, nil))
	}
	return v
}

// ones returns View(1…1)~(r), for a view that does not sum.
func ones(w *plan.Wiring, r []field.QM31) field.QM31 {
	parts := poly.SplitAxes(w.Out, r)
	v := factor(w, r)
	for _, g := range w.Renaming {
		dims := plan.Pick(w.In, g.In)
		v = v.Mul(poly.TensorMask(dims, poly.SplitAxes(dims, poly.JoinAxes(plan.Pick(parts, g.Out)))))
	}
	for _, g := range w.Summed {
		v = v.Mul(groupWeight(g, w, parts, nil))
	}
	return v
}

// weights returns the MLE of table at a point, without building it: the verifier's
// memory does not grow with the axes that are wired.
func weights(w *plan.Wiring, r, point []field.QM31) field.QM31 {
	parts := poly.SplitAxes(w.Out, r)
	v := factor(w, r)
	for _, g := range w.Summed {
		dims := plan.Pick(w.In, g.In)
		n := model.Vars(dims)
		v = v.Mul(groupWeight(g, w, parts, poly.SplitAxes(dims, point[:n])))
		point = point[n:]
	}
	return v
}

// table returns the weights factor·Π g_group of a view at the point r of its
// output, over the padded cube of the source axes that are summed.
func table(w *plan.Wiring, r []field.QM31) []field.QM31 {
	parts := poly.SplitAxes(w.Out, r)
	t := []field.QM31{factor(w, r)}
	for _, g := range w.Summed {
		dims := plan.Pick(w.In, g.In)
		eq := poly.OuterEq(plan.Pick(w.Out, g.Out), plan.Pick(parts, g.Out))
		sums := make([]field.QM31, model.Size(dims))
		g.ForEach(w.Out, w.In, func(o, i int) { sums[i] = sums[i].Add(eq[o]) })
		t = poly.Outer(t, poly.PadTable(sums, dims))
	}
	return t
}

// groupWeight returns Σ eq(parts, o)·eq(point, i) over the wired pairs (o, i) of a
// group, where point has a part for each source axis of the group, or Σ
// eq(parts, o) if there is no point.
func groupWeight(g *model.Group, w *plan.Wiring, parts, point [][]field.QM31) field.QM31 {
	outDims, inDims := plan.Pick(w.Out, g.Out), plan.Pick(w.In, g.In)
	out := poly.NewEqRows(outDims, plan.Pick(parts, g.Out))
	n := model.Size(outDims)
	var row func(from, to int, inner []field.QM31) field.QM31
	switch {
	case g.Map == model.MapReshape && point == nil:
		row = func(_, _ int, inner []field.QM31) field.QM31 { return sumOf(inner) }
	case g.Map == model.MapReshape:
		in := poly.NewEqRows(inDims, point)
		row = func(from, to int, inner []field.QM31) (sum field.QM31) {
			in.Rows(from, to, func(a, b int, weight field.QM31, other []field.QM31) {
				sum = sum.Add(weight.Mul(field.Dot(inner[a-from:b-from], other)))
			})
			return sum
		}
	default:
		source := newSourceWeights(inDims, point, n)
		row = func(from, to int, inner []field.QM31) field.QM31 {
			sums := make([]field.QM31, to-from)
			g.ForEachOf(w.Out, w.In, from, to, func(o, i int) { sums[o-from] = sums[o-from].Add(source.at(i)) })
			return field.Dot(inner, sums)
		}
	}
	var mu sync.Mutex
	var total field.QM31
	parallel.For(n, outputsPerTask, func(lo, hi int) {
		var sum field.QM31
		out.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
			sum = sum.Add(weight.Mul(row(from, to, inner)))
		})
		mu.Lock()
		defer mu.Unlock()
		total = total.Add(sum)
	})
	return total
}

// outputsPerTask is how many outputs of a group are worth a goroutine.
const outputsPerTask = 1 << 12

func sumOf(v []field.QM31) field.QM31 {
	var sum field.QM31
	for _, x := range v {
		sum = sum.Add(x)
	}
	return sum
}

// sourceWeights are the values eq(point, i) for the entries of at most one axis:
// all of them, or two tables of their square root in number. Without a point they
// are ones.
type sourceWeights struct {
	high, low []field.QM31
	bits      int
}

// newSourceWeights makes the weights of an axis of which about n entries are asked
// for.
func newSourceWeights(dims []int, point [][]field.QM31, n int) *sourceWeights {
	if len(dims) == 0 || point == nil {
		return &sourceWeights{}
	}
	r := point[0]
	s := &sourceWeights{bits: len(r)}
	if len(r) > maxWholeVars || n < 1<<len(r) {
		s.bits = (len(r) + 1) / 2
		s.high = poly.EqTable(r[:len(r)-s.bits])
	}
	s.low = poly.EqTable(r[len(r)-s.bits:])
	return s
}

// maxWholeVars bounds a table that is not split.
const maxWholeVars = 16

func (s *sourceWeights) at(i int) field.QM31 {
	switch {
	case s.low == nil:
		return field.One
	case s.high == nil:
		return s.low[i]
	}
	return s.high[i>>s.bits].Mul(s.low[i&(1<<s.bits-1)])
}
