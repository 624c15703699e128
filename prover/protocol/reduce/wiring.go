package reduce

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// factor returns the product of the Single groups of a view at the point r of its
// output.
func factor(w *plan.Wiring, r []field.QM31) field.QM31 {
	v := field.One
	if len(w.Single) == 0 {
		return v
	}
	parts := poly.SplitAxes(w.Out, r)
	for _, g := range w.Single {
		v = v.Mul(groupWeight(g, w, parts, nil))
	}
	return v
}

// ones returns View(1…1)~(r), the MLE at r of the view of a source of ones, for a view that does
// not sum. Fills are added where it is 0.
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

// weighed remembers weights of wirings at points. Many views have the same wiring at the same point, since layers of a model
// are alike.
type weighed map[*plan.Wiring][]weightAt

// weightAt is the weight of a wiring at a point.
type weightAt struct {
	at     plan.Point
	weight field.QM31
}

// mostPoints is the largest number of points for which the weight of a wiring is remembered.
const mostPoints = 8

// at returns the weight of a wiring at a point. It calls find to compute the weight if it is not remembered.
func (m weighed) at(w *plan.Wiring, at plan.Point, find func() field.QM31) field.QM31 {
	known := m[w]
	for i := range known {
		if slices.Equal(known[i].at, at) {
			return known[i].weight
		}
	}
	weight := find()
	if len(known) < mostPoints {
		m[w] = append(known, weightAt{at, weight})
	}
	return weight
}

// weights returns the MLE of table(w, r) at a point without building the table, so
// the verifier's memory does not grow with the wired axes.
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
// output, as a table over the source axes in w.Keep, each padded to a power of two.
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
// group. parts has a part for each output axis of w, and point one for each source axis of
// the group. If point is nil, it returns Σ eq(parts, o) over these pairs.
func groupWeight(g *model.Group, w *plan.Wiring, parts, point [][]field.QM31) field.QM31 {
	outDims, inDims := plan.Pick(w.Out, g.Out), plan.Pick(w.In, g.In)
	out := poly.NewEqRows(outDims, plan.Pick(parts, g.Out))
	// row returns the sum over the pairs of outputs from … to−1, with inner in place of the outputs'
	// eq, which is inner times a common factor.
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
		source := newSourceWeights(inDims, point)
		row = func(from, _ int, inner []field.QM31) field.QM31 {
			sum := pairSum{source: source}
			for len(inner) > 0 {
				bases := sum.bases[:min(len(inner), len(sum.bases))]
				g.Bases(w.Out, from, bases)
				for k, at := range bases {
					sum.add(inner[k], at, g.Sum)
				}
				from, inner = from+len(bases), inner[len(bases):]
			}
			return sum.total()
		}
	}
	var total field.QM31
	parallel.Collect(model.Size(outDims), outputsPerTask, func(lo, hi int) func() {
		var sum field.QM31
		out.Rows(lo, hi, func(from, to int, weight field.QM31, inner []field.QM31) {
			sum = sum.Add(weight.Mul(row(from, to, inner)))
		})
		return func() { total = total.Add(sum) }
	})
	return total
}

// outputsPerTask is the least number of outputs of a group worth a goroutine.
const outputsPerTask = 1 << 12

func sumOf(v []field.QM31) field.QM31 {
	var sum field.QM31
	for _, x := range v {
		sum = sum.Add(x)
	}
	return sum
}

// sourceWeights has the values eq(point, i) for the entries i of at most one source axis.
// They are stored as two tables, each of about the square root of the number of entries:
// the value of entry i is high[i>>bits]·low[i&mask]. Without a point all values are
// one.
type sourceWeights struct {
	dim        int
	high, low  []field.QM31
	bits, mask int
}

// newSourceWeights returns the weights at a point for an axis of the given dimension. dims and
// point have one element, or none for a source without axes. point is nil for weights of one.
func newSourceWeights(dims []int, point [][]field.QM31) *sourceWeights {
	s := &sourceWeights{dim: model.Size(dims), high: []field.QM31{field.One}, low: []field.QM31{field.One}, bits: 63}
	if len(dims) > 0 && point != nil {
		r := point[0]
		s.bits = (len(r) + 1) / 2
		s.mask = 1<<s.bits - 1
		s.high, s.low = poly.EqTable(r[:len(r)-s.bits]), poly.EqTable(r[len(r)-s.bits:])
	}
	return s
}

// pairSum adds up Σ eq(parts, o)·eq(point, i) over wired pairs, many at a time.
type pairSum struct {
	source         *sourceWeights
	bases          [1 << 8]int        // room for the source entries that outputs are wired to
	n              int                // number of pairs that are not yet in sum
	out, high, low [1 << 8]field.QM31 // of these pairs: the output's weight, and the two factors of the source's
	sum            field.QM31
}

// add adds the pairs of an output with the given weight. The output is wired to the
// entries i + Σ_k n_k·over[k].Stride for all 0 ≤ n_k < over[k].Dim. Where that is outside of the
// axis there is no pair.
func (s *pairSum) add(weight field.QM31, i int, over []model.SumIndex) {
	if len(over) > 0 {
		for range over[0].Dim {
			s.add(weight, i, over[1:])
			i += over[0].Stride
		}
		return
	}
	w := s.source
	if uint(i) >= uint(w.dim) {
		return
	}
	s.out[s.n], s.high[s.n], s.low[s.n] = weight, w.high[i>>w.bits], w.low[i&w.mask]
	if s.n++; s.n == len(s.out) {
		s.flush()
	}
}

// flush adds the pairs that wait to the sum.
func (s *pairSum) flush() {
	field.MulQM31Vec(s.out[:s.n], s.out[:s.n], s.high[:s.n])
	s.sum = s.sum.Add(field.Dot(s.out[:s.n], s.low[:s.n]))
	s.n = 0
}

func (s *pairSum) total() field.QM31 {
	s.flush()
	return s.sum
}
