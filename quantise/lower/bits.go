package lower

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

func init() { register(lowerBits, always[graph.Bits](Traits{jumps: true})) }

// lowerBits takes integers apart, the highest bit first: a look-up of the integer has it
// for its key, a look-up of the remainder the next, and so on. So the first look-up keeps
// the integer below 2^N, and each of the others what is left below the shift before. A
// static bound that is wider is clamped first, where calibration stays within.
func lowerBits(l *lowering, op graph.Bits, v *value, in []*value) {
	x := in[0]
	e := l.notFiner(l.operand(x))
	top := int64(1)<<op.N - 1
	// A key's ranges are rounded outwards: the float model refuses what is beyond.
	if e.Frac < 0 || x.rng.Min < 0 || x.rng.Max > float64(top)*(1+1./(1<<15)) {
		zero := float64(op.Zero)
		refuse.With("bits of integers from %.10g to %.10g: exact ones from %d to %d are taken apart",
			x.rng.Min+zero, x.rng.Max+zero, op.Zero, top+op.Zero)
	}
	if e.Min < 0 || e.Max > top {
		if bits := max(fixed.TableBits(e.Min, e.Max), fixed.FormatTable); bits > model.MaxTableBits {
			e = l.ClampWhole(x.name, e, 0, top)
		} else {
			e = l.Clamp(x.name, e, 0, top, bits)
		}
	}
	// With an axis more, of which each bit has its place.
	last := len(e.Shape)
	shape := append(slices.Clone(e.Shape), 1)
	id := l.TensorOf(x.name, e)
	e = l.View(id, fixed.ReshapeView(e.Shape, shape), shape)
	all := model.Tensor{Name: v.name, Shape: v.shape, Kind: model.Virtual, Max: 1}
	put := func(k int, id model.TensorID) {
		w := model.SameIndexes(last + 1)
		w.Groups[last].Base = -k
		all.Def = append(all.Def, model.Linear{Coef: 1, Src: id, View: w})
	}
	for k := op.N - 1; k > 0; k-- {
		bit, rest := l.Cut(fmt.Sprintf("%s, bit %d", v.name, k), e, k, l.ShiftedTable(1, 0), 0, 1)
		put(k, bit)
		e = rest
	}
	if op.N == 1 {
		e = l.View(l.Exact(v.name+", bit 0", e), nil, shape)
	}
	l.LookupDirect(e, l.RangeTable(1), model.None)
	put(0, e.Acc.Linear[0].Src)
	v.id = l.Add(all)
}
