package code

import (
	"fmt"
	"testing"
)

// BenchmarkRows encodes rows of several lengths at rate 1/4. The metric is nanoseconds of processor time a value of the
// row, by which the lengths compare.
func BenchmarkRows(b *testing.B) {
	rng := newRand(7)
	for _, n := range []int{14, 16, 18, 20, 21, 22, 23} {
		b.Run(fmt.Sprintf("2^%d", n), func(b *testing.B) {
			rows := 1 << max(0, 20-n)
			coeffs, dst := randomM31(rng, rows<<n), randomM31(rng, 4*rows<<n)
			Encode(dst[:4<<n], coeffs[:1<<n]) // twiddles
			b.ResetTimer()
			start := processorTime(b)
			for b.Loop() {
				for r := range rows {
					Encode(dst[4*r<<n:4*(r+1)<<n], coeffs[r<<n:(r+1)<<n])
				}
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(b.N*rows<<n), "cpu-ns/value")
		})
	}
}
