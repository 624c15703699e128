package code

import "github.com/prove-model/prove-model/prover/math/field"

// wholeBlock is the block length from which on a node is evaluated as a whole
// even if only one of its positions is wanted.
const wholeBlock = 256

// EncodeAt sets dst[i] to element positions[i] of the codeword of coeffs with a tail, which may be empty, on
// X_log, as [EncodeTail] computes it. It follows only the nodes of the transform that contain one of the
// positions, so for few positions most layers cost almost nothing. positions must be strictly increasing and
// below 2^log, and dst as long as positions. scratch must be as long as coeffs and must not overlap it. EncodeAt
// panics on other lengths. It works on the calling goroutine.
func EncodeAt(dst, coeffs, tail []field.M31, log int, positions []uint64, scratch []field.M31) {
	n, _ := lens(coeffs, tail, log)
	if len(scratch) != len(coeffs) || len(dst) != len(positions) {
		panic("code: EncodeAt on the wrong lengths")
	}
	if len(positions) > 0 && positions[len(positions)-1]>>log != 0 {
		panic("code: position outside the domain")
	}
	t, domain := transform(twiddles(log)), NewDomain(log-n)
	first := 1 << (log - n)
	for k := range first {
		from := uint64(k) << n
		count := below(positions, from+1<<n)
		src := coeffs
		if len(tail) > 0 && count > 0 {
			addTail(scratch, coeffs, tail, domain.Point(uint64(k)))
			src = scratch
		}
		t.nodeAt(dst[:count], scratch, src, first+k, from, positions[:count])
		dst, positions = dst[count:], positions[count:]
	}
}

// nodeAt evaluates node v at some of its positions, the first of which is from. src
// is the node's table. block is scratch memory as long as src, and may be src.
func (t transform) nodeAt(dst, block, src []field.M31, v int, from uint64, positions []uint64) {
	switch {
	case len(positions) == 0:
		return
	case len(block) <= wholeBlock:
		t.node(block, src, v)
		for i, p := range positions {
			dst[i] = block[p-from]
		}
		return
	}
	radix4(block, src, v, 1, t)
	quarter := len(block) / 4
	for k := range 4 {
		child := block[k*quarter : (k+1)*quarter]
		childFrom := from + uint64(k*quarter)
		count := below(positions, childFrom+uint64(quarter))
		t.nodeAt(dst[:count], child, child, 4*v+k, childFrom, positions[:count])
		dst, positions = dst[count:], positions[count:]
	}
}

// below returns how many of the increasing positions are below end.
func below(positions []uint64, end uint64) int {
	n := 0
	for n < len(positions) && positions[n] < end {
		n++
	}
	return n
}
