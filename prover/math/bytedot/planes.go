package bytedot

import "github.com/prove-model/prove-model/prover/math/field"

// MaxPlanes is the most planes that an integer of 32 bits has: the digits are signed, so
// that some of those of 32 bits have a fifth.
const MaxPlanes = 5

// Split cuts integers into planes of signed bytes, values[i] = Σ_k 256^k·planes[k][i] with
// digits in [−128, 128), and returns as many as there are digits other than 0: none if all
// values are. It overwrites the values; alloc makes a plane.
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

// lowest takes the lowest digits off the values and returns the OR of what is left.
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

// Join sets dst[i] = Σ_k 256^k·planes[k][from+i], of which 32 bits are kept.
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

// places are the powers of 256 in the field, by plane.
var places = func() (p [MaxPlanes]field.M31) {
	p[0] = 1
	for k := 1; k < MaxPlanes; k++ {
		p[k] = p[k-1].Mul(256)
	}
	return p
}()

// Place returns 256^k, by which the sums of plane k count, k < MaxPlanes.
func Place(k int) field.M31 { return places[k] }
