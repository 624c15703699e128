package forward

import (
	"fmt"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// lookUpAll looks an accumulator up in a table: the keys are its entries without their lowest shift bits. It fills out with the table's
// values, lo with the lowest bits, and keys with the keys, unless these are nil. column is the value column of a TableFunc table. The error
// names the first entry whose accumulator is not within ±2^30, or else whose key is not in the table.
func lookUpAll(t *model.Table, column []int32, shift int, acc []int64, out, lo, keys []int32) error {
	if len(acc) < 2*grain && lookUpPart(t, column, shift, acc, out, lo, keys) { // without a closure, which counts for rows of one entry
		return nil
	}
	var outside atomic.Bool
	parallel.For(len(acc), grain, func(from, to int) {
		part := func(v []int32) []int32 {
			if v == nil {
				return nil
			}
			return v[from:to]
		}
		if !lookUpPart(t, column, shift, acc[from:to], part(out), part(lo), part(keys)) {
			outside.Store(true)
		}
	})
	if !outside.Load() {
		return nil
	}
	if err := checkBound(acc); err != nil {
		return err
	}
	for j, x := range acc {
		if key := x >> shift; !t.Contains(key) {
			return fmt.Errorf("entry %d: key %d is not in table %q of 2^%d rows from %d", j, key, t.Name, t.Bits, t.Min)
		}
	}
	return nil
}

// mostBetween is the largest number of steps between a look-up and the look-up of its remainders for which heldKeys searches.
const mostBetween = 3

// heldKeys reports whether step i looks up the remainders of an earlier look-up, whose shift has at most as many bits as the table. All
// remainders are then keys of the table, and the step has no results. So nothing is to be computed: its keys are the values of the
// tensor id.
func heldKeys(g *model.Graph, i int) (id model.TensorID, ok bool) {
	s := &g.Steps[i]
	if s.Kind != model.StepLookup || s.Shift != 0 || s.Out != model.None || s.Acc.Const != 0 || len(s.Acc.Linear) != 1 || len(s.Acc.Products) != 0 {
		return 0, false
	}
	l, table := &s.Acc.Linear[0], &g.Tables[s.Table]
	if l.Coef != 1 || l.View != nil || table.Min != 0 {
		return 0, false
	}
	for j := max(i-1-mostBetween, 0); j < i; j++ {
		if of := &g.Steps[j]; of.Kind == model.StepLookup && of.Lo == l.Src && of.Shift <= table.Bits {
			return l.Src, true
		}
	}
	return 0, false
}

// lookUpPart is lookUpAll in one goroutine. It returns false, and changes nothing, if an accumulator or a key is out of range.
func lookUpPart(t *model.Table, column []int32, shift int, acc []int64, out, lo, keys []int32) bool {
	s, least, rows := uint(shift)&63, t.Min, uint64(1)<<t.Bits
	for _, x := range acc { // −2^30 < x < 2^30, and 0 ≤ key − least < rows, each as one unsigned comparison
		if uint64(x+model.Bound-1) > 2*model.Bound-2 || uint64(x>>s-least) >= rows {
			return false
		}
	}
	switch mask := int64(1)<<s - 1; {
	case keys != nil && lo != nil:
		keys, lo = keys[:len(acc)], lo[:len(acc)]
		for j, x := range acc {
			keys[j], lo[j] = int32(x>>s), int32(x&mask)
		}
	case keys != nil:
		keys = keys[:len(acc)]
		for j, x := range acc {
			keys[j] = int32(x >> s)
		}
	case lo != nil:
		lo = lo[:len(acc)]
		for j, x := range acc {
			lo[j] = int32(x & mask)
		}
	}
	switch {
	case out == nil:
	case t.Kind == model.TableFunc:
		out = out[:len(acc)]
		for j, x := range acc {
			out[j] = column[x>>s-least]
		}
	case t.Kind == model.TablePiecewise:
		lookUpPieces(t, s, acc, out[:len(acc)])
	default:
		clear(out)
	}
	return true
}

// lookUpPieces sets out to the values of a piecewise-linear table. It searches for the piece of a key only if the key is not in the same
// piece as the one before.
func lookUpPieces(t *model.Table, shift uint, acc []int64, out []int32) {
	drop, least := uint(t.Drop)&63, t.Min
	var piece model.Piece
	from := int64(0)
	for j, x := range acc {
		key := x >> shift >> drop
		if row := key - least; row < from || row >= piece.End {
			from = 0
			for _, p := range t.Pieces {
				if piece = p; row < p.End {
					break
				}
				from = p.End
			}
		}
		out[j] = int32(piece.Slope*key + piece.Offset)
	}
}
