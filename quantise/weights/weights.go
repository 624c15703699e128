// Package weights has what quantising needs of constant weights: the statistics of their output
// channels, which bound products, and their rounding to integers.
package weights

import (
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// ChannelSums returns Σ_k add[k]·w(k, c) for every channel c of a matrix. If stride is 1, the
// entries of a channel follow each other; otherwise entry w(k, c) is at k·stride + c.
func ChannelSums(w *Constant, add []float64, channels, stride int) []float64 {
	sums := make([]float64, channels)
	parallel.For(channels, max(1, 1<<14/len(add)), func(lo, hi int) {
		var buffer []float32
		if stride == 1 {
			for c := lo; c < hi; c++ {
				for k, x := range w.part(c*len(add), len(add), &buffer) {
					sums[c] += float64(float64(x) * add[k])
				}
			}
			return
		}
		for k, a := range add {
			for i, x := range w.part(k*stride+lo, hi-lo, &buffer) {
				sums[lo+i] += float64(float64(x) * a)
			}
		}
	})
	return sums
}

// Constant is a constant of the float graph, maybe multiplied by factors: entry i by
// Factors[i/Stride mod len(Factors)].
type Constant struct {
	*graph.Tensor
	By      string // the name of the factors' constant, or what else tells constants of one name apart
	Factors []float64
	Stride  int
	Secret  bool // whether a circuit may tell only statistics of it, rounded to a grid (Channels)
}

// Same reports whether both constants have the same numbers.
func (c *Constant) Same(o *Constant) bool {
	x, y := c.Tensor, o.Tensor
	same := x == y || slices.Equal(x.Shape, y.Shape) && slices.Equal(x.Floats(), y.Floats()) && slices.Equal(x.I64, y.I64)
	return same && c.Stride == o.Stride && slices.Equal(c.Factors, o.Factors)
}

// part returns n weights from index at on: a part of the constant's own floats, or, if it has
// none or has factors, numbers in the buffer. (Integers beyond 2^24 are rounded to float32, which
// is far finer than their quantisation.)
func (c *Constant) part(at, n int, buffer *[]float32) []float32 {
	if c.F32 != nil && c.Factors == nil {
		return c.F32[at : at+n]
	}
	if cap(*buffer) < n {
		*buffer = make([]float32, n)
	}
	b := (*buffer)[:n]
	if c.I64 == nil {
		c.Read(b, at)
	} else {
		for i := range b {
			b[i] = float32(c.At(at + i))
		}
	}
	if c.Factors == nil {
		return b
	}
	j, left := at/c.Stride%len(c.Factors), c.Stride-at%c.Stride // left counts down to the next factor, without a division for each entry
	for i, x := range b {
		b[i] = float32(float64(x) * c.Factors[j])
		if left--; left == 0 {
			if j++; j == len(c.Factors) {
				j = 0
			}
			left = c.Stride
		}
	}
	return b
}

// buffers are for floats that are read to be rounded or summed.
var buffers = sync.Pool{New: func() any { return new([]float32) }}

// Remainders returns what is lost when weights times 2^frac are rounded to integers: y − round(y),
// itself rounded to units of 2^−fine.
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
func Quantised(t *Constant, frac int, exponentsOf func() []int, inner int) fixed.Filler {
	rounding := sync.OnceValues(func() (exponents []int, scales []float64) {
		exponents = exponentsOf()
		if inner == 1 { // each number is of another channel than the one before
			for _, e := range exponents {
				scales = append(scales, fixed.Pow2(frac-e))
			}
		}
		return exponents, scales
	})
	return func(dst []int32, from int) {
		exponents, scales := rounding()
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
