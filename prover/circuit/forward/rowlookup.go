package forward

import (
	"fmt"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// lookUpAll looks the upper bits of an accumulator up in a table. It fills out with the values, lo with the lower bits and keys
// with the upper ones, unless they are nil.
func lookUpAll(t *model.Table, column []int32, shift int, acc []int64, out, lo, keys []int32) error {
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

// lookUpPart is lookUpAll for the entries that one goroutine takes. It returns false if an accumulator or a key is out of range.
func lookUpPart(t *model.Table, column []int32, shift int, acc []int64, out, lo, keys []int32) bool {
	s, least, rows := uint(shift)&63, t.Min, uint64(1)<<t.Bits
	for _, x := range acc {
		if uint64(x+model.Bound-1) > 2*model.Bound-2 || uint64(x>>s-least) >= rows {
			return false
		}
	}
	if keys != nil {
		for j, x := range acc {
			keys[j] = int32(x >> s)
		}
	}
	if lo != nil {
		mask := int64(1)<<s - 1
		for j, x := range acc {
			lo[j] = int32(x & mask)
		}
	}
	switch {
	case out == nil:
	case t.Kind == model.TableFunc:
		for j, x := range acc {
			out[j] = column[x>>s-least]
		}
	case t.Kind == model.TablePiecewise:
		// Most keys are in the piece that the one before is in.
		piece, from := model.Piece{}, int64(0)
		for j, x := range acc {
			key := x >> s >> t.Drop
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
	default:
		clear(out)
	}
	return true
}
