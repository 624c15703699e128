package code

import (
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

// This file has the loops of the transform. Twiddles are indexed by node (twiddles). The
// nodes of a call cover dst, and src if there is one, in equal blocks of at
// least 2·lanes (radix2) or 4·lanes (radix4) elements. Tests compare the assembly with
// the plain Go code.

// level is the instruction set in use; tests lower it.
var level = simd.Best()

// lanes is the length of the blocks that lastLayers finishes: one AVX-512
// register of base-field elements.
const lanes = 16

// twiddlesOf returns the address of the twiddles of count nodes from v on. It
// panics if there are fewer, as assembly checks no bounds.
func twiddlesOf(t []field.M31, v, count int) *uint32 {
	return (*uint32)(&t[v:][:count][0])
}

// blockLen returns the length of a part if dst consists of count blocks of `parts` equal parts. It panics unless that is a positive
// multiple of 16: the assembly handles vectors of 16 elements, in a loop that runs at least once.
func blockLen(dst []field.M31, count int, parts int) int {
	part := len(dst) / count / parts
	if part == 0 || part%lanes != 0 || part*parts*count != len(dst) {
		panic("code: blocks are too short for the vector kernels")
	}
	return part
}

// radix2 computes one layer, of count nodes from v on: (a, b) becomes
// (a + t·b, a − t·b), where a is from the first half of a block, b from the
// second, and t is the node's twiddle. src may be dst.
func radix2(dst, src []field.M31, v, count int, t []field.M31) {
	if level == simd.None {
		radix2Generic(dst, src, v, count, t)
		return
	}
	half := blockLen(dst, count, 2)
	src = src[:len(dst)]
	radix2Vec((*uint32)(&dst[0]), (*uint32)(&src[0]), uint64(4*half), uint64(count), twiddlesOf(t, v, count))
}

// radix2Generic is radix2 for blocks of any length.
func radix2Generic(dst, src []field.M31, v, count int, t []field.M31) {
	half := len(dst) / count / 2
	for k := range count {
		in, out := src[2*k*half:], dst[2*k*half:]
		butterflies(out[:half], out[half:2*half], in[:half], in[half:2*half], t[v+k])
	}
}

// butterflies sets x, y = a + t·b, a − t·b element by element.
func butterflies(x, y, a, b []field.M31, t field.M31) {
	y, a, b = y[:len(x)], a[:len(x)], b[:len(x)]
	for i := range x {
		tb := t.Mul(b[i])
		x[i], y[i] = a[i].Add(tb), a[i].Sub(tb)
	}
}

// radix4 computes two layers in one pass over memory: that of count nodes from v on, and that of
// their children. src may be dst.
func radix4(dst, src []field.M31, v, count int, t []field.M31) {
	if level != simd.None {
		quarter := blockLen(dst, count, 4)
		src = src[:len(dst)]
		radix4Vec((*uint32)(&dst[0]), (*uint32)(&src[0]), uint64(4*quarter), uint64(count),
			twiddlesOf(t, v, count), twiddlesOf(t, 2*v, 2*count))
		return
	}
	quarter := len(dst) / count / 4
	for k := range count {
		in, out := src[4*k*quarter:], dst[4*k*quarter:]
		t0, t1, t2 := t[v+k], t[2*(v+k)], t[2*(v+k)+1]
		a0, a1, a2, a3 := in[:quarter], in[quarter:2*quarter], in[2*quarter:3*quarter], in[3*quarter:4*quarter]
		x0, x1, x2, x3 := out[:quarter], out[quarter:2*quarter], out[2*quarter:3*quarter], out[3*quarter:4*quarter]
		for i := range quarter {
			u2, u3 := t0.Mul(a2[i]), t0.Mul(a3[i])
			b0, b2 := a0[i].Add(u2), a0[i].Sub(u2)
			b1, b3 := a1[i].Add(u3), a1[i].Sub(u3)
			w1, w3 := t1.Mul(b1), t2.Mul(b3)
			x0[i], x1[i] = b0.Add(w1), b0.Sub(w1)
			x2[i], x3[i] = b2.Add(w3), b2.Sub(w3)
		}
	}
}

// lastLayers computes the last four layers: all those of nodes of 16 elements, of which
// dst has an even number and the first is v.
func lastLayers(dst []field.M31, v int, t []field.M31) {
	count := len(dst) / lanes
	if level == simd.None {
		layersGeneric(dst, v, count, t)
		return
	}
	if count == 0 || count%2 != 0 || count*lanes != len(dst) {
		panic("code: an odd number of groups for the vector kernels")
	}
	last1((*uint32)(&dst[0]), uint64(count),
		twiddlesOf(t, v, count), twiddlesOf(t, 2*v, 2*count), twiddlesOf(t, 4*v, 4*count), twiddlesOf(t, 8*v, 8*count))
}

// layersGeneric computes all layers of count nodes from v on.
func layersGeneric(dst []field.M31, v, count int, t []field.M31) {
	for ; len(dst) > count; v, count = 2*v, 2*count {
		radix2Generic(dst, dst, v, count, t)
	}
}
