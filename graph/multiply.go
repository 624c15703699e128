package graph

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/matmul"
)

// multiplyInto sets out = a·b for a of m×k and b of k×n, or of n×k if transposed is set.
// Every output adds its k terms in order, however the work is split.
func multiplyInto[W float32 | float64](out, a []float64, b []W, m, k, n int, transposed bool) {
	if m < 4 { // few rows: matmul would copy b, which is not worth it
		vectorTimes(out, a, b, m, k, n, transposed)
		return
	}
	columns := matmul.Operand[W]{Data: b, Batch: []int{0}, Free: index(n, 1), K: index(k, n), Out: index(n, 1)}
	if transposed {
		columns.Free, columns.K = index(n, k), index(k, 1)
	}
	clear(out)
	matmul.Float(out, []int{0}, matmul.Operand[float64]{
		Data: a, Batch: []int{0}, Free: index(m, k), K: index(k, 1), Out: index(m, n),
	}, columns)
}

// storedPart is about how many stored numbers are decoded and multiplied at a time, few
// enough to stay in the second-level cache.
const storedPart = 1 << 16

// multiplyStored is multiplyInto for a stored b, n×k, which is read in parts.
func multiplyStored(out, a []float64, b *Stored, m, k, n int) {
	if m >= 4 {
		matmul.Streamed(out, a, m, k, n, b.Read)
		return
	}
	// width is the number of rows of b in a part, a multiple of 8.
	width := max(8, storedPart/k&^7)
	parallel.For((n+width-1)/width, 1, func(lo, hi int) {
		part := make([]float32, width*k)
		for p := lo; p < hi; p++ {
			from := p * width
			w := min(width, n-from)
			part := part[:w*k]
			b.Read(part, from*k)
			for i := range m {
				dotProducts(out[i*n+from:][:w], a[i*k:(i+1)*k], part)
			}
		}
	})
}

// vectorTimes is multiplyInto for an a of few rows.
func vectorTimes[W float32 | float64](out, a []float64, b []W, m, k, n int, transposed bool) {
	const block = 256 // columns at a time
	blocks := (n + block - 1) / block
	parallel.For(m*blocks, max(1, 1<<16/(block*max(k, 1))), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i, c := t/blocks, t%blocks*block
			row := a[i*k : (i+1)*k]
			dst := out[i*n+c : i*n+min(c+block, n)]
			if transposed {
				dotProducts(dst, row, b[c*k:])
				continue
			}
			clear(dst)
			for l, v := range row {
				axpy(dst, b[l*n+c:l*n+c+len(dst)], v)
			}
		}
	})
}

// dotProducts sets out[j] = Σ_i a[i]·b[j·len(a)+i].
func dotProducts[W float32 | float64](out, a []float64, b []W) {
	k, j := len(a), 0
	// Four independent sums at a time, as each addition to a sum waits for the one before.
	for ; j+4 <= len(out); j += 4 {
		b0, b1, b2, b3 := b[j*k:][:k], b[(j+1)*k:][:k], b[(j+2)*k:][:k], b[(j+3)*k:][:k]
		var s0, s1, s2, s3 float64
		for i, v := range a {
			s0 += float64(v * float64(b0[i])) // the conversions forbid fused multiply-adds
			s1 += float64(v * float64(b1[i]))
			s2 += float64(v * float64(b2[i]))
			s3 += float64(v * float64(b3[i]))
		}
		out[j], out[j+1], out[j+2], out[j+3] = s0, s1, s2, s3
	}
	for ; j < len(out); j++ {
		out[j] = dotProduct(a, b[j*k:][:k])
	}
}

// dotProduct returns Σ a[i]·b[i].
func dotProduct[W float32 | float64](a []float64, b []W) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, v := range a {
		sum += float64(v * float64(b[i]))
	}
	return sum
}

// axpy adds s·x to dst.
func axpy[W float32 | float64](dst []float64, x []W, s float64) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += float64(s * float64(v))
	}
}

// multiply is multiplyInto for a b of float32 or float64 that begins at element from of
// its operand.
func multiply(out, a []float64, b operand, from, m, k, n int, transposed bool) {
	if b.w != nil {
		multiplyInto(out, a, b.w[from:from+k*n], m, k, n, transposed)
	} else {
		multiplyInto(out, a, b.float64s()[from:from+k*n], m, k, n, transposed)
	}
}

// index returns the n numbers 0, step, 2·step, …
func index[T int | int64 | float64](n int, step T) []T {
	return filled(n, func(i int) T { return T(i) * step })
}
