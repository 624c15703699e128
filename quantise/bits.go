package quantise

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerBits, always[graph.Bits](traits{jumps: true})) }

// lowerBits takes integers apart, the highest bit first: a look-up of the integer has it
// for its key, a look-up of the remainder the next, and so on. So the first look-up keeps
// the integer below 2^N, and each of the others what is left below the shift before. A
// static bound that is wider is clamped first, where calibration stays within.
func lowerBits(l *lowering, n *graph.Node, op graph.Bits, v *value) {
	x := l.values[n.Inputs[0]]
	e := l.take(x)
	if e.frac > 0 { // whole numbers on a scale finer than that needs
		e, _ = l.floor("whole", e)
	}
	top := int64(1)<<op.N - 1
	// A key's ranges are rounded outwards: the float model refuses what is beyond.
	if e.frac < 0 || x.rng.Min < 0 || x.rng.Max > float64(top)*(1+1./(1<<15)) {
		zero := float64(op.Zero)
		refuse("bits of integers from %.10g to %.10g: exact ones from %d to %d are taken apart", x.rng.Min+zero, x.rng.Max+zero, op.Zero, top+op.Zero)
	}
	if e.min < 0 || e.max > top {
		if bits := max(tableBits(e.min, e.max), formatTable); bits > model.MaxTableBits {
			e = l.clampWhole(x.name, e, 0, top)
		} else {
			id := l.witness(x.name, e.shape, 0, 0, top)
			table := l.piecewiseOf(keep, 0, top, bits)
			l.clamped(table, keep, 0, top, e.min < 0, e.max > top)
			l.direct(e, table, id)
			e = l.tensorExpr(id, nil, e.shape)
		}
	}
	// With an axis more, of which each bit has its place.
	last := len(e.shape)
	shape := append(slices.Clone(e.shape), 1)
	var id model.TensorID
	if e.linear() && e.acc.Const == 0 {
		id = l.virtualOf(x.name, e)
	} else {
		id = l.exact(x.name, e)
	}
	e = l.tensorExpr(id, reshapeView(e.shape, shape), shape)
	all := model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Virtual, Max: 1}
	put := func(k int, id model.TensorID) {
		w := &model.View{Groups: identityGroups(last + 1)}
		w.Groups[last].Base = -k
		all.Def = append(all.Def, model.Linear{Coef: 1, Src: id, View: w})
	}
	for k := op.N - 1; k > 0; k-- {
		bit := l.witness(fmt.Sprintf("%s, bit %d", v.name, k), shape, 0, 0, 1)
		e = l.cut(e, k, l.shiftedTable(1, 0), bit)
		put(k, bit)
	}
	if op.N == 1 {
		e = l.tensorExpr(l.exact(v.name+", bit 0", e), nil, shape)
	}
	l.direct(e, l.rangeTable(1), model.None)
	put(0, e.acc.Linear[0].Src)
	v.id = l.add(all)
}
