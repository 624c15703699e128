package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/kerneltest"
	"github.com/prove-model/prove-model/prover/field"
)

// sizes are lengths around the block size, and one element.
var sizes = []int{1, 2, 31, 255, 256, 257, 1000}

func randomM31(rng *rand.Rand) field.M31 {
	// The extremes often.
	switch rng.IntN(8) {
	case 0:
		return 0
	case 1:
		return field.P - 1
	}
	return field.M31(rng.Uint32N(field.P))
}

func randomQM31(rng *rand.Rand) field.QM31 {
	return field.NewQM31(randomM31(rng), randomM31(rng), randomM31(rng), randomM31(rng))
}

func randomVec(rng *rand.Rand, n int) []field.QM31 {
	v := make([]field.QM31, n)
	for i := range v {
		v[i] = randomQM31(rng)
	}
	return v
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// must stops the test on the first error of a series of device calls.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func upload[T kernels.Element](t testing.TB, d kernels.Device, s []T) kernels.Ptr {
	t.Helper()
	p, err := kernels.Upload(d, s)
	must(t, err)
	t.Cleanup(func() { d.Free(p) })
	return p
}

func alloc[T kernels.Element](t testing.TB, d kernels.Device, n int) kernels.Ptr {
	t.Helper()
	return upload(t, d, make([]T, n))
}

func download[T kernels.Element](t testing.TB, d kernels.Device, p kernels.Ptr, n int) []T {
	t.Helper()
	v := make([]T, n)
	must(t, kernels.Download(d, v, p))
	return v
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: entry %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

func launch(group, name string) kernels.Kernel { return kernels.Kernel{Group: group, Name: name} }

func grid(n int) kernels.Launch { return kernels.Launch{GridX: (n + 255) / 256, Block: 256} }

func TestFieldOperations(t *testing.T) {
	d := kerneltest.Device(t)
	ops := []func(a, b field.QM31) field.QM31{field.QM31.Add, field.QM31.Sub, field.QM31.Mul}
	for _, n := range sizes {
		rng := newRand(uint64(n))
		a, b := randomVec(rng, n), randomVec(rng, n)
		pa, pb, out := upload(t, d, a), upload(t, d, b), alloc[field.QM31](t, d, n)
		for op, f := range ops {
			must(t, d.Launch(launch("field", "field_binary"), grid(n), uint64(out), uint64(pa), uint64(pb), uint64(n), uint64(op)))
			want := make([]field.QM31, n)
			for i := range want {
				want[i] = f(a[i], b[i])
			}
			equal(t, "operation", download[field.QM31](t, d, out, n), want)
		}
		var want field.QM31
		for _, v := range a {
			want = want.Add(v)
		}
		sum := alloc[uint64](t, d, kernels.SumWords)
		must(t, d.Launch(launch("field", "field_sum"), kernels.Launch{GridX: 3, Block: 128}, uint64(sum), uint64(pa), uint64(n)))
		if got := kernels.FromSum(download[uint64](t, d, sum, kernels.SumWords)); got != want {
			t.Fatalf("sum of %d: %v, want %v", n, got, want)
		}
	}
}

func TestReductions(t *testing.T) {
	d := kerneltest.Device(t)
	rng := newRand(1)
	v := []int64{0, 1, -1, field.P, -field.P, field.P - 1, 2 * field.P, 1<<62 - 1, -1<<62 + 1, math.MaxInt64, -1, math.MinInt64}
	for len(v) < 300 {
		v = append(v, int64(rng.Uint64())>>rng.IntN(60))
	}
	p, out := upload(t, d, v), alloc[field.M31](t, d, len(v))
	must(t, d.Launch(launch("field", "field_reduce"), grid(len(v)), uint64(out), uint64(p), uint64(len(v)), 0))
	for i, got := range download[field.M31](t, d, out, len(v)) {
		if want := field.Reduce64(uint64(v[i])); got != want {
			t.Errorf("%d: got %d, want %d", uint64(v[i]), got, want)
		}
	}
	must(t, d.Launch(launch("field", "field_reduce"), grid(len(v)), uint64(out), uint64(p), uint64(len(v)), 1))
	for i, got := range download[field.M31](t, d, out, len(v)) {
		if v[i] >= 1<<63-1<<32 || v[i] <= -1<<63+1<<32 {
			continue
		}
		if want := field.FromInt64(v[i]); got != want {
			t.Errorf("signed %d: got %d, want %d", v[i], got, want)
		}
	}
	w := []int32{0, 1, -1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, math.MaxInt32 - 1, 12345, -12345}
	p = upload(t, d, w)
	must(t, d.Launch(launch("field", "field_from_signed"), grid(len(w)), uint64(out), uint64(p), uint64(len(w))))
	for i, got := range download[field.M31](t, d, out, len(w)) {
		if want := field.FromInt32(w[i]); got != want {
			t.Errorf("from signed %d: got %d, want %d", w[i], got, want)
		}
	}
}
