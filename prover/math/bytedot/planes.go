package bytedot

import "github.com/prove-model/prove-model/prover/math/field"

// MaxPlanes is the most planes that 32-bit integers are cut into. As digits are signed, some
// of these integers have five digits.
const MaxPlanes = 5

// Split cuts integers into planes of signed bytes, values[i] = Σ_k 256^k·planes[k][i] with
// digits in [−128, 128). It returns only as many planes as are needed, none if all
// values are 0. It overwrites values. alloc returns memory for a plane, at least as long as values.
func Split(values []int32, alloc func() []int8) [][]int8 {
	rest := int32(0)
	for _, v := range values {
		if rest |= v; rest != 0 {
			break
		}
	}
	var planes [][]int8
	for rest != 0 {
		plane := alloc()[:len(values)]
		rest = lowest(plane, values)
		planes = append(planes, plane)
	}
	return planes
}

// lowest sets plane to the lowest digits of the values, replaces each value by (value − digit)/256, and returns the bitwise or of these.
func lowest(plane []int8, values []int32) (rest int32) {
	n := prefix(len(values), 16)
	if n > 0 {
		var lanes [16]int32
		splitAVX512(&plane[0], &values[0], &lanes[0], uint64(n))
		for _, v := range lanes {
			rest |= v
		}
	}
	for i := n; i < len(values); i++ {
		v := values[i]
		plane[i] = int8(v)
		v = v>>8 + v>>7&1 // (v − digit)/256
		values[i] = v
		rest |= v
	}
	return rest
}

// Join sets dst[i] = Σ_k 256^k·planes[k][from+i], modulo 2^32. It is the inverse of Split for a part of the entries.
func Join(dst []int32, planes [][]int8, from int) {
	clear(dst)
	for k := len(planes) - 1; k >= 0; k-- {
		p := planes[k][from : from+len(dst)]
		n := prefix(len(dst), 16)
		if n > 0 {
			joinAVX512(&dst[0], &p[0], uint64(n))
		}
		for i := n; i < len(p); i++ {
			dst[i] = dst[i]<<8 + int32(p[i])
		}
	}
}

// places has 256^k modulo p for each plane k.
var places = func() (p [MaxPlanes]field.M31) {
	p[0] = 1
	for k := 1; k < MaxPlanes; k++ {
		p[k] = p[k-1].Mul(256)
	}
	return p
}()

// Place returns 256^k modulo p, the factor of the sums of plane k, for k < MaxPlanes.
func Place(k int) field.M31 { return places[k] }
