package quantise

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// limbs cuts the entries x of a tensor into limbs, lowest first, with
// x = Σ 2^(bits·i)·limb i, in look-ups: one a limb and entry. Every limb but the
// last lies in [−2^(bits−1), 2^(bits−1)), and the last within ±2^top; of these
// there are as few as x needs, one if it fits by itself, and at least as many as
// asked for. From limb i on they make x/2^(bits·i), rounded to within a half and
// 2^−bits.
//
// A look-up of x + h, h half a unit of every limb that is cut off, has the last
// limb for its key; a look-up of the remainder the next, and so on; what is left
// in the end is looked up in a range. Every remainder is thereby kept below the
// shift that it is one of (model.rangeBits), so that each look-up forces its own.
func (l *builder) limbs(id model.TensorID, bits, top, least int) []model.TensorID {
	t := l.g.Tensors[id]
	n, h, lo, hi := 1, int64(0), t.Min, t.Max
	for ; n < least || lo < -1<<top || hi > 1<<top; n++ {
		h += 1 << (bits*n - 1)
		lo, hi = (t.Min+h)>>(bits*n), (t.Max+h)>>(bits*n)
	}
	if n == 1 {
		return []model.TensorID{id}
	}
	limbs := make([]model.TensorID, n)
	rest := l.tensorExpr(id, nil, t.Shape)
	rest.acc.Const = h
	low := model.Tensor{Name: t.Name + ", low limb", Shape: t.Shape, Kind: model.Virtual, Frac: t.Frac, Min: -1 << (bits - 1), Max: 1<<(bits-1) - 1,
		Def: []model.Linear{{Coef: 1, Src: id}}}
	for i := n - 1; i > 0; i-- {
		first, last, table := -int64(1)<<(bits-1), int64(1)<<(bits-1)-1, model.TableID(0)
		if i == n-1 {
			first, last = lo, hi
			table = l.piecewiseOf(keep, -model.Bound, model.Bound, model.Log2Ceil(int(max(-lo, hi+1)))+1)
		} else {
			table = l.shiftedTable(bits, first)
		}
		limbs[i] = l.witness(fmt.Sprintf("%s, limb %d", t.Name, i), t.Shape, 0, first, last)
		rest = l.cut(rest, bits*i, table, limbs[i])
		low.Def = append(low.Def, model.Linear{Coef: -1 << (bits * i), Src: limbs[i]})
	}
	l.inRange(rest, bits)
	limbs[0] = l.add(low)
	return limbs
}

// cut adds the look-up out = table(⌊e/2^shift⌋) and returns its remainder. What
// keeps the remainder in its range, a look-up of it alone, is the caller's to add.
func (l *builder) cut(e *expr, shift int, table model.TableID, out model.TensorID) *expr {
	lo := l.witness("low bits", e.shape, 0, 0, 1<<shift-1)
	step := model.Step{
		Kind: model.StepLookup, Name: l.name, Shape: e.shape, Acc: e.acc, Shift: shift, Lo: lo, Table: table, Out: out, Den: model.None,
	}
	l.fit(&step, e)
	l.g.Steps = append(l.g.Steps, step)
	return l.tensorExpr(lo, nil, e.shape)
}

// shiftedTable is the table of key + first on the keys [0, 2^bits).
func (l *builder) shiftedTable(bits int, first int64) model.TableID {
	return l.steppedTable(fmt.Sprintf("from %d, %d", first, bits), bits, []model.Piece{{End: 1 << bits, Slope: 1, Offset: first}})
}

// stretchedTable is the table of ⌊key/2^drop⌋ on the keys [0, 2^(bits+drop)).
func (l *builder) stretchedTable(bits, drop int) model.TableID {
	name := fmt.Sprintf("upper %d of %d", bits, bits+drop)
	return l.addTable(name, model.Table{
		Name: name, Kind: model.TablePiecewise, Bits: bits + drop, Drop: drop, Pieces: []model.Piece{{End: 1 << bits, Slope: 1}}, Values: model.None,
	})
}

// steppedTable is a table of pieces on the keys [0, 2^bits).
func (l *builder) steppedTable(name string, bits int, pieces []model.Piece) model.TableID {
	return l.addTable(name, model.Table{Name: name, Kind: model.TablePiecewise, Bits: bits, Pieces: pieces, Values: model.None})
}
