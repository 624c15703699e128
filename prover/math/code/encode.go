package code

import (
	"math/bits"
	"runtime"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Encode evaluates the table coeffs of 2^n elements on the domain X_m: dst[i]
// is f at NewDomain(m).Point(i), for len(dst) = 2^m, n ≤ m ≤ MaxLogSize. It
// panics on other lengths. dst and coeffs must not overlap. Long inputs are
// split over the cores.
func Encode(dst, coeffs []field.M31) {
	EncodeTail(dst, coeffs, nil)
}

// logLen returns log2 of a power of two and panics on another number.
func logLen(n int) int {
	if bits.OnesCount(uint(n)) != 1 {
		panic("code: a length is not a power of two")
	}
	return bits.TrailingZeros(uint(n))
}

// parallelLen is the least number of base-field elements that the transform
// splits over the cores.
const parallelLen = 1 << 16

// transform is the table of twiddles, which all nodes of the FFT share.
type transform []field.M31

// nodes evaluates the nodes first, …, 2·first−1, which cover dst in equal blocks.
// input(k) returns the table of node first + k, which may be that node's block of dst.
func (t transform) nodes(dst []field.M31, first int, input func(k int) []field.M31) {
	block := len(dst) / first
	if len(dst) < parallelLen {
		for k := range first {
			t.node(dst[k*block:(k+1)*block], input(k), first+k)
		}
		return
	}
	// Two layers at a time until there are enough independent blocks.
	if first < 4*runtime.GOMAXPROCS(0) && block >= parallelLen {
		parallel.For(first, 1, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				radix4(dst[k*block:(k+1)*block], input(k), first+k, 1, t)
			}
		})
		t.nodes(dst, 4*first, func(k int) []field.M31 { return dst[k*block/4 : (k+1)*block/4] })
		return
	}
	parallel.For(first, 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			t.node(dst[k*block:(k+1)*block], input(k), first+k)
		}
	})
}

// leafLen is the number of base-field elements, 32 KB, up to which a node's
// layers are computed one after the other, as its block stays in the first-level cache.
const leafLen = 1 << 13

// node evaluates node v: dst becomes the evaluation of the table src, of equal
// length; src may be dst.
func (t transform) node(dst, src []field.M31, v int) {
	if len(dst) > leafLen {
		radix4(dst, src, v, 1, t)
		block := len(dst) / 4
		for k := range 4 {
			child := dst[k*block : (k+1)*block]
			t.node(child, child, 4*v+k)
		}
		return
	}
	// From here on count nodes of the same level lie side by side.
	count, block := 1, len(dst)
	for ; block >= 4*lanes; block /= 4 {
		radix4(dst, src, v, count, t)
		src, v, count = dst, 4*v, 4*count
	}
	if block >= 2*lanes {
		radix2(dst, src, v, count, t)
		src, v, count, block = dst, 2*v, 2*count, block/2
	}
	if &src[0] != &dst[0] {
		copy(dst, src)
	}
	if block == lanes && count > 1 {
		lastLayers(dst, v, t)
	} else { // a table of one group or less
		layersGeneric(dst, v, count, t)
	}
}
