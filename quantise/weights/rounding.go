package weights

import (
	"math"

	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// Remainders returns what rounding weights times 2^frac takes from them, in units of
// 2^−fine.
func Remainders(t *Constant, frac, fine int) fixed.Filler {
	scale, units := fixed.Pow2(frac), fixed.Pow2(fine)
	return func(dst []int32, from int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		for i, x := range t.part(from, len(dst), buffer) {
			y := float64(float64(x) * scale)
			dst[i] = int32(math.RoundToEven((y - math.RoundToEven(y)) * units))
		}
	}
}

// RoundedTo is x times 2^frac, rounded to a multiple of 2^exponent.
func RoundedTo(x float64, frac, exponent int) int64 {
	return int64(math.RoundToEven(x*fixed.Pow2(frac-exponent))) << exponent
}

// Quantised returns weights times 2^frac, rounded to multiples of
// 2^exponents[c] in channel c (which is i/inner mod channels).
func Quantised(t *Constant, frac int, exponents []int, inner int) fixed.Filler {
	var scales []float64 // where a run of numbers of one channel is too short
	if inner == 1 {
		for _, e := range exponents {
			scales = append(scales, fixed.Pow2(frac-e))
		}
	}
	return func(dst []int32, from int) {
		buffer := buffers.Get().(*[]float32)
		defer buffers.Put(buffer)
		run := t.part(from, len(dst), buffer)
		if inner == 1 {
			for len(run) > 0 {
				c := from % len(exponents)
				n := min(len(run), len(exponents)-c)
				part, shifts := scales[c:c+n], exponents[c:c+n]
				for i, x := range run[:n] {
					dst[i] = int32(math.RoundToEven(float64(x)*part[i])) << (shifts[i] & 31)
				}
				dst, run, from = dst[n:], run[n:], from+n
			}
			return
		}
		for len(run) > 0 {
			row := from / inner
			e := exponents[row%len(exponents)]
			n := min(len(run), (row+1)*inner-from)
			ints.Round(dst[:n], run[:n], frac-e, e)
			dst, run, from = dst[n:], run[n:], from+n
		}
	}
}
