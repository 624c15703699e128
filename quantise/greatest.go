package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// mostSpread is the largest difference that a table of max(x, 0) is made for.
const mostSpread = 1 << 14

// lowerGreatest lowers ReduceMax: the axes become the last, and a tournament along
// it says which element is the greatest. It is exact.
func lowerGreatest(l *lowering, n *graph.Node, op graph.Reduce, v *value) {
	id := l.tensor(l.values[n.Inputs[0]])
	t := l.g.Tensors[id]
	var perm, shape []int
	count := 1
	for i, d := range t.Shape {
		if slices.Contains(op.Axes, i) {
			count *= d
		} else {
			perm, shape = append(perm, i), append(shape, d)
		}
	}
	perm = append(perm, op.Axes...)
	w := &model.View{}
	moved := make([]int, len(perm))
	same := true
	for j, i := range perm {
		w.Groups = append(w.Groups, axis(j, i))
		moved[j] = t.Shape[i]
		same = same && i == j
	}
	if !same {
		id = l.virtual(t.Name, moved, []model.Linear{{Coef: 1, Src: id, View: w}}, t.Frac)
	}
	if shape = append(shape, count); !slices.Equal(shape, moved) {
		id = l.virtual(t.Name, shape, []model.Linear{{Coef: 1, Src: id, View: reshapeView(moved, shape)}}, t.Frac)
	}
	if t.Max-t.Min <= mostSpread {
		v.id = l.lastAxisMax(v.name, id)
		return
	}
	for at := len(shape) - 1; l.g.Tensors[id].Shape[at] > 1; {
		id = l.wideGreater(v.name, id, at)
	}
	v.id = id
}

// wideGreater plays the halves of the last axis against each other: b + c·(a − b),
// where c says whether a ≥ b.
func (l *builder) wideGreater(name string, id model.TensorID, at int) model.TensorID {
	t := l.g.Tensors[id]
	k := t.Shape[at]
	half := (k + 1) / 2
	out := slices.Clone(t.Shape)
	out[at] = half
	part := func(base int) *model.View {
		v := &model.View{Groups: identityGroups(len(out))}
		v.Groups[at].Base = base
		return v
	}
	first, second := part(0), part(half)
	if k%2 == 1 {
		second.Fill = t.Min // the odd one out plays against the least value
	}
	spread := t.Max - t.Min
	diff := &expr{shape: out, frac: t.Frac, min: -spread, max: spread}
	diff.acc.Linear = []model.Linear{{Coef: 1, Src: id, View: first}, {Coef: -1, Src: id, View: second}}
	wins := l.notNegative(name+", wins", diff)
	by := l.virtualOf(name+", by", diff)
	e := l.rowProduct(out, wins, by, spread).plus(l.tensorExpr(id, second, out))
	e.frac, e.min, e.max = t.Frac, t.Min, t.Max
	return l.exact(name, e)
}
