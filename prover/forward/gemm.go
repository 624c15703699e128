package forward

import "github.com/prove-model/prove-model/prover/parallel"

// rowWork is the number of multiplications that are worth a goroutine.
const rowWork = 1 << 15

// gemmRows computes C[i] = A[i]·B[i]ᵀ for nb matrices A of (nm, nk) and B of
// (nn, nk), both row-major, and hands every entry to add.
func gemmRows(nb, nm, nn, nk int, a, b []int32, add func(i, j, l int, x int64)) {
	// The longer side is split, so that the other operand's rows stay in cache
	// and a vector times a big matrix still uses all cores.
	work := max(1, rowWork/max(1, nk))
	if nm >= nn {
		parallel.For(nb*nm, max(1, work/nn), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				i, row := r/nm, a[r*nk:(r+1)*nk]
				for l := range nn {
					at := (i*nn + l) * nk
					add(i, r%nm, l, dot(row, b[at:at+nk]))
				}
			}
		})
		return
	}
	parallel.For(nb*nn, max(1, work/nm), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			i, row := r/nn, b[r*nk:(r+1)*nk]
			for j := range nm {
				at := (i*nm + j) * nk
				add(i, j, r%nn, dot(row, a[at:at+nk]))
			}
		}
	})
}

// dot is Σ a[i]·b[i]. Four sums hide the latency of the additions.
func dot(a, b []int32) int64 {
	var s0, s1, s2, s3 int64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += int64(a[0]) * int64(b[0])
		s1 += int64(a[1]) * int64(b[1])
		s2 += int64(a[2]) * int64(b[2])
		s3 += int64(a[3]) * int64(b[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += int64(x) * int64(b[i])
	}
	return s0 + s1 + s2 + s3
}

// strip is the number of columns that gemmColumns sums at a time: the sums
// stay in the first-level cache while the rows of B stream by.
const strip = 1 << 10

// gemmColumns computes C[i] = A[i]·B[i] for nb matrices A of (nm, nk) and B of
// (nk, nn), both row-major, and hands every entry to add.
func gemmColumns(nb, nm, nn, nk int, a, b []int32, add func(i, j, l int, x int64)) {
	// Narrow strips if there are few rows, so that all cores have work.
	width := strip
	for width > 64 && nb*nm*((nn+width-1)/width) < 8 {
		width /= 2
	}
	strips := (nn + width - 1) / width
	parallel.For(nb*nm*strips, max(1, rowWork/max(1, nk*width)), func(lo, hi int) {
		sums := make([]int64, width)
		for t := lo; t < hi; t++ {
			r, from := t/strips, t%strips*width
			to := min(nn, from+width)
			i, s := r/nm, sums[:to-from]
			clear(s)
			row, c := a[r*nk:(r+1)*nk], 0
			column := func(c int) []int32 { return b[(i*nk+c)*nn:][from:to] }
			for ; c+4 <= nk; c += 4 {
				axpy4(s, row[c:], column(c), column(c+1), column(c+2), column(c+3))
			}
			for ; c < nk; c++ {
				axpy(s, int64(row[c]), column(c))
			}
			for l, x := range s {
				add(i, r%nm, from+l, x)
			}
		}
	})
}

// axpy adds x·b to s.
func axpy(s []int64, x int64, b []int32) {
	b = b[:len(s)]
	for i := range s {
		s[i] += x * int64(b[i])
	}
}

// axpy4 adds x[0]·b0 + … + x[3]·b3 to s, which loads and stores s a quarter as
// often.
func axpy4(s []int64, x []int32, b0, b1, b2, b3 []int32) {
	n := len(s)
	b0, b1, b2, b3 = b0[:n], b1[:n], b2[:n], b3[:n]
	x0, x1, x2, x3 := int64(x[0]), int64(x[1]), int64(x[2]), int64(x[3])
	if x0|x1|x2|x3 == 0 { // after a Relu, many are
		return
	}
	for i := range s {
		s[i] += x0*int64(b0[i]) + x1*int64(b1[i]) + x2*int64(b2[i]) + x3*int64(b3[i])
	}
}
