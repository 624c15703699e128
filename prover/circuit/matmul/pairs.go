package matmul

import (
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Numbers of 16 bits are multiplied and added two at a time, in 32 bits, which is four to ten times
// as fast as with products of 64 bits. Terms are summed in runs whose sum stays below 2^31 for any
// row. The length of a run follows from the magnitudes of the columns, which are found while the
// columns are copied.
const (
	// pairWidth is the most columns of a strip, and pairDepth over how many indexes a task sums at a time. That part of the strip takes half
	// a first-level cache.
	pairWidth = 128
	pairDepth = 128
	// pairUnit is the number of terms by which runs grow, an even number; a strip's width is a multiple of it too.
	pairUnit = 16
	// pairWork is the least number of multiplications for which finding the magnitudes of all
	// entries pays.
	pairWork = 1 << 14
)

// inPairs reports whether multiplyPairs can be used for these operands and is worth it, and returns a bound on the
// magnitude of an entry of the rows.
func inPairs[A, B ints.Integer](rows Operand[A], columns Operand[B]) (most int64, ok bool) {
	if level == simd.None || len(rows.Free) < fewRows || len(columns.Free) < lanes ||
		len(rows.Free)*len(columns.Free)*len(rows.K)*len(rows.Batch) < pairWork {
		return 0, false
	}
	// Entries of 8 and 16 bits have at most 15 bits besides the sign, so only those of 32 bits are looked at.
	if _, wide := any(columns.Data).([]int32); wide && magnitudeBits(columns.Data) > 15 {
		return 0, false
	}
	a := magnitudeBits(rows.Data)
	return 1 << a, a <= 15
}

// magnitudeBits returns the least n for which all entries are in [−2^n, 2^n).
func magnitudeBits[T ints.Integer](data []T) int {
	var all atomic.Uint32
	parallel.For(len(data), 1<<16, func(lo, hi int) {
		var or uint32
		for _, x := range data[lo:hi] {
			or |= uint32(int32(x) ^ int32(x)>>31)
		}
		all.Or(or)
	})
	return bits.Len32(all.Load())
}

// multiplyPairs is Int for entries that fit in 16 bits. The entries of the rows have magnitudes of at most
// most.
func multiplyPairs[A, B ints.Integer](dst []int64, coef int64, out []int, a Operand[A], b Operand[B], most int64) {
	m, n, k := len(a.Free), len(b.Free), len(a.K)
	strips := ceilDiv(n, pairWidth)
	width := ceilDiv(ceilDiv(n, strips), pairUnit) * pairUnit
	strips = ceilDiv(n, width)
	tasks := 4 * runtime.GOMAXPROCS(0)
	group := min(m, mostRows, max(leastRows, m*len(out)*strips/tasks))
	groups := ceilDiv(m, group)
	work := max(1, group*width*k/8)
	parallel.For(len(out)*strips*groups, max(1, taskWork/work), func(lo, hi int) {
		sums, panel := make([]int64, group*width), make([]int16, pairDepth*width)
		x, high := make([]int16, pairDepth), make([]int16, pairDepth)
		half, totals := make([]int64, width), make([]int32, width)
		room := make([]int, 0, pairDepth/pairUnit)
		for t := lo; t < hi; t++ {
			batch, from, row := t/(strips*groups), t/groups%strips*width, t%groups*group
			free, rows := b.Free[from:min(n, from+width)], a.Free[row:min(m, row+group)]
			clear(sums)
			for c := 0; c < k; c += pairDepth {
				ka, kb := a.K[c:min(k, c+pairDepth)], b.K[c:min(k, c+pairDepth)]
				size := packPairs(panel, width, b.Data[b.Batch[batch]:], free, kb)
				ends := runs(room, totals, panel, width, len(ka)+len(ka)&1, most, size)
				together := consecutive(ka)
				x := x[:len(ka)+len(ka)&1]
				x[len(x)-1] = 0
				for i, r := range rows {
					if data := a.Data[a.Batch[batch]+r:]; together {
						narrow(x, data[ka[0]:][:len(ka)])
					} else {
						gather(x, data, ka)
					}
					s := sums[i*width : (i+1)*width]
					if ends == nil {
						addSplit(s, half, x, high, panel, width)
						continue
					}
					at := 0
					for _, end := range ends {
						pairRows(s, x[at:end], panel[at*width:], width)
						at = end
					}
				}
			}
			for i := range rows {
				d, s := out[batch]+a.Out[row+i], sums[i*width:]
				for j, o := range b.Out[from : from+len(free)] {
					dst[d+o] += coef * s[j]
				}
			}
		}
	})
}

// packPairs sets panel[2(c·width+j)+e], for e = 0 or 1, to entry 2c + e of column j, or to zero if there is
// no such entry. It returns a power of two that is at least the magnitude of every entry.
func packPairs[B ints.Integer](panel []int16, width int, src []B, free, rows []int) int64 {
	var or uint32
	for c := 0; c < len(rows); c += 2 {
		line := panel[c*width : (c+2)*width]
		first := src[rows[c]:]
		if c+1 == len(rows) {
			for j, f := range free {
				x := first[f]
				or |= uint32(int32(x) ^ int32(x)>>31)
				line[2*j], line[2*j+1] = int16(x), 0
			}
		} else {
			second := src[rows[c+1]:]
			for j, f := range free {
				x, y := first[f], second[f]
				or |= uint32(int32(x)^int32(x)>>31) | uint32(int32(y)^int32(y)>>31)
				line[2*j], line[2*j+1] = int16(x), int16(y)
			}
		}
		clear(line[2*len(free):])
	}
	return 1 << bits.Len32(or)
}

// narrow copies src, whose entries fit in 16 bits, to dst.
func narrow[A ints.Integer](dst []int16, src []A) {
	if same, ok := any(src).([]int16); ok {
		copy(dst, same)
		return
	}
	for i, v := range src {
		dst[i] = int16(v)
	}
}

// addSplit is pairRows for a row x with any entries of 16 bits, whose sums may exceed 2^31. It splits x = 256·high + low, so that
// the sums for each part are of at most pairDepth = 128 terms below 2^15·2^8, and so below 2^30. It overwrites x with low; high and half
// are scratch memory.
func addSplit(s, half []int64, x, high, panel []int16, width int) {
	high = high[:len(x)]
	for i, v := range x {
		high[i], x[i] = v>>8, v&255
	}
	pairRows(s, x, panel, width)
	clear(half)
	pairRows(half, high, panel, width)
	for j, v := range half {
		s[j] += v << 8
	}
}

// runs divides depth terms into runs whose sums are below 2^31 for any row with entries of magnitude at most
// most, and appends the end of each run to ends. It returns nil if even a run of pairUnit terms might have a larger
// sum. The entries of the panel have magnitudes of at most size. totals is scratch memory, with one entry for each column.
func runs(ends []int, totals []int32, panel []int16, width, depth int, most, size int64) []int {
	sum := int64(0)
	for at := 0; at < depth; at += pairUnit {
		unit := pairUnit * size
		if 2*unit*most >= 1<<31 { // with this bound runs would be short: find the magnitudes of the unit itself
			unit = magnitude(totals, panel[at*width:min(at+pairUnit, depth)*width])
		}
		if unit*most >= 1<<31 {
			return nil
		}
		if (sum+unit)*most >= 1<<31 {
			ends, sum = append(ends, at), 0
		}
		sum += unit
	}
	return append(ends, depth)
}

// magnitude returns the largest sum of the magnitudes in one column of a part of a panel. totals is scratch memory,
// with one entry for each column.
func magnitude(totals []int32, panel []int16) int64 {
	clear(totals)
	for at := 0; at < len(panel); at += 2 * len(totals) {
		for j, p := 0, panel[at:at+2*len(totals)]; j < len(totals); j++ {
			x, y := int32(p[2*j]), int32(p[2*j+1])
			totals[j] += (x ^ x>>31) - x>>31 + (y ^ y>>31) - y>>31
		}
	}
	most := int32(0)
	for _, x := range totals {
		most = max(most, x)
	}
	return int64(most)
}
