package precision

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
)

// relative returns the formats to begin with for models in which a node needs every entry of a value with
// a relative precision, and calibration found entries of many sizes: the argument of a
// logarithm, a root or a power, or the operands of a quotient. Such values have lower.RelativeBits, and
// the values that they are made of spectrumBits. It returns none for other models.
func relative(fg *graph.Graph, groups []group, ranges map[string]lower.Range, headroom float64) lower.Formats {
	return fineBefore(fg, groups, func(n *graph.Node) (before, finest []string) {
		names := readRelatively(fg, n, ranges, headroom)
		return names, names
	}, func(n *graph.Node) []string {
		// If such a value is a function of another value, or a sum, its operands need the same precision.
		if _, scalar := n.Op.(graph.Scalar); scalar || lower.OnlyMoves(n) || len(n.Inputs) == 2 && lower.TraitsOf(n.Op).PerEntry {
			return n.Inputs
		}
		return nil
	})
}

// readRelatively lists the operands of a node of which it needs every entry with a relative precision:
// the argument of a function, or the operands of a quotient, where a table of 2^16 arguments would be
// too coarse.
func readRelatively(fg *graph.Graph, n *graph.Node, ranges map[string]lower.Range, headroom float64) []string {
	var f func(float64) float64
	x := n.Inputs[0]
	switch op := n.Op.(type) {
	case graph.Scalar:
		if op.Func.Clamp != nil || op.Func.Jumps {
			return nil
		}
		f = op.Of()
	case graph.Arithmetic:
		if op != graph.Div {
			return nil
		}
		f = func(x float64) float64 { return 1 / x }
		x = n.Inputs[1]
	default:
		return nil
	}
	if fg.Consts[x] != nil || !fg.DTypes[x].IsFloat() || !coarse(f, ranges[x], headroom) {
		return nil
	}
	if len(n.Inputs) == 2 && fg.Consts[n.Inputs[0]] == nil {
		return n.Inputs
	}
	return []string{x}
}

// manySizes is how many times the smallest magnitude the largest one must exceed for a value to count as
// having entries of many sizes.
const manySizes = 16

// coarse reports whether a function needs its argument with a relative precision. It does if, at some
// argument within the calibrated range, a table for 2^16 arguments on one scale would be off by more
// than half the target, and a table by octaves would be off by less than that table.
func coarse(f func(float64) float64, r lower.Range, headroom float64) bool {
	if r.Abs() <= manySizes*r.Least {
		return false
	}
	half := float64(r.Abs() * headroom * fixed.Pow2(-fixed.NarrowBits))
	least := math.Max(r.Least, half)
	var off, octaves float64
	lo, hi := 0.0, 0.0 // the function's range, with 0, which errors are relative to
	for size := r.Abs(); size >= least; size *= 0.75 {
		for _, x := range []float64{size, -size} {
			if x < r.Min || x > r.Max {
				continue
			}
			y := f(x)
			if y-y != 0 {
				continue
			}
			lo, hi = math.Min(lo, y), math.Max(hi, y)
			if d := math.Abs(f(x+half) - y); d-d == 0 {
				off = math.Max(off, d)
			}
			if d := math.Abs(f(x+float64(x*fixed.OctaveError)) - y); d-d == 0 {
				octaves = math.Max(octaves, d)
			}
		}
	}
	return off > float64((hi-lo)*lower.Target/2) && octaves < off
}
