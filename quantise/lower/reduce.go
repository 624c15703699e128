package lower

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() {
	register(lowerReduce, func(op graph.Reduce) Traits {
		return Traits{Means: op.Func == graph.Mean, jumps: op.Func == graph.MaxOf}
	})
	register(lowerAveragePool, always[graph.AveragePool](Traits{}))
}

// lowerReduce lowers ReduceMean and ReduceSum: a summing view, and for the
// mean a division by the number of entries as in scale.
func lowerReduce(l *lowering, n *graph.Node, op graph.Reduce, v *value) {
	switch op.Func {
	case graph.Sum, graph.Mean:
	case graph.MaxOf:
		lowerGreatest(l, n, op, v)
		return
	default:
		fixed.Refuse("operator not supported")
	}
	x := l.values[n.Inputs[0]]
	count := 1
	w := &model.View{}
	out := 0
	for i, d := range x.shape {
		if !slices.Contains(op.Axes, i) {
			w.Groups = append(w.Groups, fixed.Axis(out, i))
			out++
			continue
		}
		count *= d
		g := model.Group{In: []int{i}, Sum: []model.SumIndex{{Dim: d, Stride: 1}}}
		if op.Keep {
			g.Out, g.Strides = []int{out}, []int{0}
			out++
		}
		w.Groups = append(w.Groups, g)
	}
	if open := l.openAxes(n.Inputs[0], op.Axes); len(open) > 0 {
		l.lowerOpenReduce(v, x, w, op, open, count)
		return
	}
	l.sum(v, x, w, count, op.Func == graph.Mean)
}

// lowerAveragePool lowers AveragePool: the sum of each window, divided by the
// number of kernel positions.
func lowerAveragePool(l *lowering, n *graph.Node, op graph.AveragePool, v *value) {
	w := &model.View{Groups: fixed.IdentityGroups(2)}
	count := 1
	for i, win := range windows(op.Window) {
		w.Groups = append(w.Groups, win.Summed(2+i, 2+i))
		count *= win.Taps
	}
	l.sum(v, l.values[n.Inputs[0]], w, count, true)
}

// sum lowers v = the summing view w of x, of count entries each, divided by
// count for a mean.
func (l *lowering) sum(v, x *value, w *model.View, count int, mean bool) {
	id := l.tensor(x)
	for !l.Room(float64(l.Magnitude(id)) * float64(count)) {
		if l.integers(v.name) {
			fixed.Refuse("a sum of %d whole numbers of up to %d does not fit in 30 bits", count, l.Magnitude(id))
		}
		bits := model.Log2Ceil(int(l.Magnitude(id))) - 1
		if bits < 4 {
			fixed.Refuse("a sum of %d values does not fit in 30 bits with at least 4 bits each", count)
		}
		id = l.narrowed(x, bits)
	}
	e := l.View(id, w, v.shape)
	e.Min, e.Max = l.LinearBounds(&e.Acc.Linear[0], v.shape)
	if mean {
		// The sum is a tensor of its own if there is no room to scale it.
		s := &value{name: v.name, rng: Range{Min: v.rng.Min * float64(count), Max: v.rng.Max * float64(count)}}
		e = l.scaleTo(v, s, e, 1/float64(count))
	}
	v.acc = e
}
