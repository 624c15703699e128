package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// offsets returns n entries that are stride apart.
func offsets(n, stride int) []int {
	o := make([]int, n)
	for i := range o {
		o[i] = i * stride
	}
	return o
}

// shape is a batch of products (m×k)·(k×n), and how its operands lie.
type shape struct {
	batch, m, n, k int
	a, b           layout
}

type layout int

const (
	sumInner  layout = iota // the index summed over is the inner one
	freeInner               // the other one is
	scattered               // neither is consecutive
)

// operand lays out random entries, with the result's rows outStride apart.
func operand[T Number](l layout, batch, free, k, outStride int, entry func() T) Operand[T] {
	stride := 1
	if l == scattered {
		stride = 2
	}
	x := Operand[T]{Data: make([]T, stride*batch*free*k), Batch: offsets(batch, stride*free*k), Out: offsets(free, outStride)}
	if l == freeInner {
		x.Free, x.K = offsets(free, 1), offsets(k, free)
	} else {
		x.Free, x.K = offsets(free, stride*k), offsets(k, stride)
	}
	for i := range x.Data {
		x.Data[i] = entry()
	}
	return x
}

func drawShape(t *rapid.T) shape {
	l := rapid.IntRange(0, 2)
	return shape{
		rapid.IntRange(1, 3).Draw(t, "batch"), rapid.IntRange(1, 20).Draw(t, "m"), rapid.IntRange(1, 150).Draw(t, "n"),
		rapid.IntRange(1, 80).Draw(t, "k"), layout(l.Draw(t, "a")), layout(l.Draw(t, "b")),
	}
}

// extreme draws integers, often the largest.
func extreme(rng *rand.Rand) func() int32 {
	return func() int32 {
		switch rng.IntN(4) {
		case 0:
			return math.MinInt32
		case 1:
			return math.MaxInt32
		}
		return int32(rng.Uint32())
	}
}

// small draws integers of which tests add up many.
func small(rng *rand.Rand) func() int32 { return func() int32 { return rng.Int32N(1<<16) - 1<<15 } }

// naive calls f for every term of the products, sums in order.
func naive(s shape, f func(dst, batch, i, j, k int)) {
	for b := range s.batch {
		for i := range s.m {
			for j := range s.n {
				for k := range s.k {
					f((b*s.m+i)*s.n+j, b, i, j, k)
				}
			}
		}
	}
}

func (x Operand[T]) at(b, i, k int) T { return x.Data[x.Batch[b]+x.Free[i]+x.K[k]] }

func testInt[A, B ints.Integer](t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := drawShape(t)
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			entry := small(rng)
			if s.k == 1 { // no sum of two extremes fits
				entry = extreme(rng)
			}
			a := operand(s.a, s.batch, s.m, s.k, s.n, func() A { return A(entry()) })
			b := operand(s.b, s.batch, s.n, s.k, 1, func() B { return B(entry()) })
			got := make([]int64, s.batch*s.m*s.n)
			got[0] = 5
			want := slices.Clone(got)
			naive(s, func(d, bt, i, j, k int) { want[d] += -3 * int64(a.at(bt, i, k)) * int64(b.at(bt, j, k)) })
			if rapid.Bool().Draw(t, "swap") {
				Int(got, -3, offsets(s.batch, s.m*s.n), b, a)
			} else {
				Int(got, -3, offsets(s.batch, s.m*s.n), a, b)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: got %v, want %v", s, got, want)
			}
		})
	})
}

func TestInt(t *testing.T) {
	t.Run("32", testInt[int32, int32])
	t.Run("16", testInt[int32, int16])
	t.Run("8", testInt[int32, int8])
	t.Run("8 and 16", testInt[int8, int16])
}

func testFloat[A, B float32 | float64](t *testing.T) {
	atEachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := drawShape(t)
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			a := operand(s.a, s.batch, s.m, s.k, s.n, func() A { return A(rng.NormFloat64()) })
			b := operand(s.b, s.batch, s.n, s.k, 1, func() B { return B(rng.NormFloat64()) })
			got, want := make([]float64, s.batch*s.m*s.n), make([]float64, s.batch*s.m*s.n)
			naive(s, func(d, bt, i, j, k int) { want[d] += float64(float64(a.at(bt, i, k)) * float64(b.at(bt, j, k))) })
			if Float(got, offsets(s.batch, s.m*s.n), a, b); !slices.Equal(got, want) {
				t.Fatalf("%+v: the sums are not those in order", s)
			}
		})
	})
}

func TestFloat(t *testing.T) {
	t.Run("float32, float64", testFloat[float32, float64])
	t.Run("float64, float32", testFloat[float64, float32])
	t.Run("float64, float64", testFloat[float64, float64])
}

// Sizes of many strips, groups and tasks, at one thread and at several.
func TestLargeAndThreads(t *testing.T) {
	for _, s := range []shape{
		{1, 1, 2100, 70, sumInner, freeInner}, // columns that are not copied
		{1, 3, 2100, 70, sumInner, sumInner},  // dots
		{2, 300, 5, 400, sumInner, sumInner},  // dots, of few columns
		{2, 300, 5, 400, sumInner, scattered},
		{2, 5, 300, 400, scattered, sumInner},
		{1, 300, 40, 130, sumInner, scattered}, // groups of rows
		{2, 65, 257, 65, scattered, freeInner},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		a := operand(s.a, s.batch, s.m, s.k, s.n, small(rng))
		b := operand(s.b, s.batch, s.n, s.k, 1, small(rng))
		want := make([]int64, s.batch*s.m*s.n)
		naive(s, func(d, bt, i, j, k int) { want[d] += int64(a.at(bt, i, k)) * int64(b.at(bt, j, k)) })
		for _, procs := range []int{1, 4} {
			before := runtime.GOMAXPROCS(procs)
			got := make([]int64, len(want))
			Int(got, 1, offsets(s.batch, s.m*s.n), a, b)
			runtime.GOMAXPROCS(before)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: wrong with %d threads", s, procs)
			}
		}
	}
}

func TestNothingToSum(t *testing.T) {
	got := []int64{7, 8}
	Int(got, 1, []int{0}, Operand[int32]{Batch: []int{0}, Free: []int{0}, Out: []int{0}}, Operand[int32]{Batch: []int{0}, Free: []int{0, 1}, Out: []int{0, 1}})
	if !slices.Equal(got, []int64{7, 8}) {
		t.Fatal(got)
	}
}

func TestLengthsMustMatch(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	Int(nil, 1, nil, Operand[int32]{K: []int{0}}, Operand[int32]{})
}

func benchmarkInt(b *testing.B, s shape) {
	b.Run("32", func(b *testing.B) { benchmarkOf[int32](b, s) })
	b.Run("16", func(b *testing.B) { benchmarkOf[int16](b, s) })
	b.Run("8", func(b *testing.B) { benchmarkOf[int8](b, s) })
}

// benchmarkOf multiplies 32-bit rows with columns of another type.
func benchmarkOf[T ints.Integer](b *testing.B, s shape) {
	rng := rand.New(rand.NewPCG(1, 2))
	entry := small(rng)
	x := operand(s.a, s.batch, s.m, s.k, s.n, entry)
	y := operand(s.b, s.batch, s.n, s.k, 1, func() T { return T(entry()) })
	dst, out := make([]int64, s.batch*s.m*s.n), offsets(s.batch, s.m*s.n)
	b.ResetTimer()
	for b.Loop() {
		Int(dst, 1, out, x, y)
	}
	b.ReportMetric(float64(s.batch*s.m*s.n*s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gmul/s")
}

// Convolutions of 64 and of 512 channels, and vectors times matrices.
func BenchmarkIntWide(b *testing.B)    { benchmarkInt(b, shape{1, 64, 1024, 576, sumInner, freeInner}) }
func BenchmarkIntNarrow(b *testing.B)  { benchmarkInt(b, shape{1, 512, 16, 4608, sumInner, freeInner}) }
func BenchmarkIntRows(b *testing.B)    { benchmarkInt(b, shape{1, 1, 4096, 4096, sumInner, sumInner}) }
func BenchmarkIntColumns(b *testing.B) { benchmarkInt(b, shape{1, 1, 4096, 4096, sumInner, freeInner}) }

// BenchmarkIntText multiplies 128 rows of 13 bits, as tokens have, with weights of as many.
func BenchmarkIntText(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tokens, n, k = 128, 1024, 2048
	x := operand(sumInner, 1, tokens, k, n, func() int32 { return rng.Int32N(1<<14) - 1<<13 })
	y := operand(sumInner, 1, n, k, 1, func() int16 { return int16(rng.Int32N(1<<13) - 1<<12) })
	dst := make([]int64, tokens*n)
	b.ResetTimer()
	for b.Loop() {
		Int(dst, 1, []int{0}, x, y)
	}
	b.ReportMetric(tokens*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gmul/s")
}

func BenchmarkFloat(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const m, n, k = 64, 1024, 576
	x := operand(sumInner, 1, m, k, n, func() float32 { return rng.Float32() })
	y := operand(freeInner, 1, n, k, 1, rng.Float64)
	dst := make([]float64, m*n)
	b.ResetTimer()
	for b.Loop() {
		Float(dst, []int{0}, x, y)
	}
	b.ReportMetric(m*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gmul/s")
}
