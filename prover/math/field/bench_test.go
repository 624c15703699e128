package field

import "testing"

// benchLen keeps all operands in the second-level cache, so that the
// arithmetic is measured and not the memory.
const benchLen = 1 << 13

// benchmark measures an operation on n elements.
func benchmark(b *testing.B, name string, n int, op func()) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			op()
		}
		b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e6, "Melem/s")
	})
}

func BenchmarkM31(b *testing.B) {
	x, y, dst := sampleM31s(benchLen, 1), sampleM31s(benchLen, 2), make([]M31, benchLen)
	ints := sampleInt32s(benchLen, 3)
	benchmark(b, "AddVec", benchLen, func() { AddVec(dst, x, y) })
	benchmark(b, "SubVec", benchLen, func() { SubVec(dst, x, y) })
	benchmark(b, "MulVec", benchLen, func() { MulVec(dst, x, y) })
	benchmark(b, "ScaleVec", benchLen, func() { ScaleVec(dst, x, 123456789) })
	benchmark(b, "FromInt32Vec", benchLen, func() { FromInt32Vec(dst, ints) })
}

func BenchmarkQM31(b *testing.B) {
	const n = benchLen / 2
	x, y, dst := sampleQM31s(n, 1), sampleQM31s(n, 2), make([]QM31, n)
	base, ints := sampleM31s(n, 3), sampleInt32s(n, 4)
	r := sampleQM31(5)
	var sink QM31
	benchmark(b, "MulQM31Vec", n, func() { MulQM31Vec(dst, x, y) })
	benchmark(b, "FoldVec", n/2, func() { FoldVec(dst[:n/2], x, r) })
	benchmark(b, "FoldM31Halves", n/2, func() { FoldM31Halves(dst[:n/2], base[:n/2], base[n/2:], r) })
	benchmark(b, "MulAccVec", n, func() { MulAccVec(dst, base, r) })
	benchmark(b, "MulAccInt32Vec", n, func() { MulAccInt32Vec(dst, ints, r) })
	benchmark(b, "Dot", n, func() { sink = Dot(x, y) })
	benchmark(b, "DotM31", n, func() { sink = DotM31(base, x) })
	benchmark(b, "DotInt32", n, func() { sink = DotInt32(ints, x) })
	half := func(v []QM31) Halves { return Halves{v[:n/2], v[n/2:]} }
	benchmark(b, "RoundSums", n/2, func() { sink, _ = RoundSums(half(x), half(y)) })
	benchmark(b, "RoundSumsWeighted", n/2, func() { sink, _ = RoundSumsWeighted(x[:n/2], half(x), half(y)) })
	benchmark(b, "FractionRoundSums", n/2, func() { sink, _ = FractionRoundSums(x[:n/2], half(x), half(y), half(y), half(x)) })
	benchmark(b, "AddFractions", n/2, func() { AddFractions(dst[:n/2], dst[n/2:], x[:n/2], x[n/2:], y[:n/2], y[n/2:]) })
	benchmark(b, "AddFractionsM31", n/2, func() { AddFractionsM31(dst[:n/2], dst[n/2:], base[:n/2], base[n/2:], y[:n/2], y[n/2:]) })
	benchmark(b, "MulAccQM31Vec", n, func() { MulAccQM31Vec(dst, x, r) })
	benchmark(b, "EqTableInto", n, func() { EqTableInto(dst, x[:12], One) })
	benchmark(b, "BatchInvert", n, func() { BatchInvert(dst) })
	_ = sink
}

func BenchmarkScalar(b *testing.B) {
	x, y := sampleQM31(1), sampleQM31(5)
	b.Run("QM31.Mul", func(b *testing.B) {
		for b.Loop() {
			x = x.Mul(y)
		}
	})
	b.Run("QM31.Inv", func(b *testing.B) {
		for b.Loop() {
			x = x.Inv()
		}
	})
}
