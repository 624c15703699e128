package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/field"
)

// sizes of vectors: one, around a block, and more than one of anything.
var sizes = []int{1, 31, 255, 256, 257, 4099}

var extremes = []field.M31{0, 1, 2, 1 << 30, 1<<30 - 1, field.P - 2, field.P - 1}

// vectorM31 returns n elements, the first of them pairs of extremes by turns of
// period.
func vectorM31(rng *rand.Rand, n, period int) []field.M31 {
	v := make([]field.M31, n)
	for i := range v {
		v[i] = field.M31(rng.Uint32N(field.P))
		if k := i / period; i < len(extremes)*len(extremes) {
			v[i] = extremes[k%len(extremes)]
		}
	}
	return v
}

func vectorQM31(rng *rand.Rand, n, period int) []field.QM31 {
	v := make([]field.QM31, n)
	for i := range v {
		if i/period%2 == 0 {
			e := extremes[i/period/2%len(extremes)]
			v[i] = field.NewQM31(e, e, e, e)
			continue
		}
		v[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), field.M31(rng.Uint32N(field.P)),
			field.M31(rng.Uint32N(field.P)), field.M31(rng.Uint32N(field.P)))
	}
	return v
}

// compare runs a launcher of two operands and compares with want.
func compare[T comparable, E interface {
	kernels.Element
	comparable
}](t *testing.T, d kernels.Device, name string, launch func(d kernels.Device, dst, a, b kernels.Ptr, n int) error, a []T, b []E, want func(T, E) E) {
	t.Helper()
	n := len(a)
	pa, err := d.Alloc(n * 16)
	must(t, err)
	defer d.Free(pa)
	must(t, uploadAny(d, pa, a))
	pb, err := kernels.NewSlice(d, b)
	must(t, err)
	defer d.Free(pb)
	dst, err := kernels.AllocSlice[E](d, n)
	must(t, err)
	defer d.Free(dst)
	must(t, launch(d, dst, pa, pb, n))
	got := make([]E, n)
	must(t, kernels.DownloadSlice(d, got, dst))
	for i := range got {
		if w := want(a[i], b[i]); got[i] != w {
			t.Fatalf("%s of %d elements: [%d] = %v, want %v (from %v, %v)", name, n, i, got[i], w, a[i], b[i])
		}
	}
}

func uploadAny[T any](d kernels.Device, dst kernels.Ptr, src []T) error {
	switch s := any(src).(type) {
	case []field.M31:
		return kernels.UploadSlice(d, dst, s)
	case []field.QM31:
		return kernels.UploadSlice(d, dst, s)
	case []int32:
		return kernels.UploadSlice(d, dst, s)
	}
	panic("no such element")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// elementwise launches a kernel of two operands that tests alone need: it holds the
// arithmetic of field.cuh against package field's.
func elementwise(name string) func(d kernels.Device, dst, a, b kernels.Ptr, n int) error {
	return func(d kernels.Device, dst, a, b kernels.Ptr, n int) error {
		return d.Launch(kernels.Kernel{Group: "field", Name: name}, kernels.Cover(n), uint64(dst), uint64(a), uint64(b), uint64(n))
	}
}

var addM31 = elementwise("m31_vec_add")

func TestVectors(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range sizes {
		a, b := vectorM31(rng, n, 1), vectorM31(rng, n, len(extremes))
		compare(t, d, "AddM31", addM31, a, b, field.M31.Add)
		compare(t, d, "SubM31", elementwise("m31_vec_sub"), a, b, field.M31.Sub)
		compare(t, d, "MulM31", elementwise("m31_vec_mul"), a, b, field.M31.Mul)

		ints := make([]int32, n)
		for i := range ints {
			ints[i] = int32(rng.Uint32())
		}
		copy(ints, []int32{math.MinInt32, math.MaxInt32, -1, 0, 1, -math.MaxInt32})
		fromInt32 := func(d kernels.Device, dst, a, _ kernels.Ptr, n int) error { return kernels.FromInt32(d, dst, a, n) }
		compare(t, d, "FromInt32", fromInt32, ints, b, func(v int32, _ field.M31) field.M31 { return field.FromInt32(v) })

		x, y := vectorQM31(rng, n, 1), vectorQM31(rng, n, 2)
		compare(t, d, "AddQM31", kernels.AddQM31, x, y, field.QM31.Add)
		compare(t, d, "SubQM31", elementwise("qm31_vec_sub"), x, y, field.QM31.Sub)
		compare(t, d, "MulQM31", elementwise("qm31_vec_mul"), x, y, field.QM31.Mul)
		inv := func(d kernels.Device, dst, a, _ kernels.Ptr, n int) error {
			return d.Launch(kernels.Kernel{Group: "field", Name: "qm31_vec_inv"}, kernels.Cover(n), uint64(dst), uint64(a), uint64(n))
		}
		compare(t, d, "InvQM31", inv, x, y, func(v, _ field.QM31) field.QM31 { return v.Inv() })
	}
}

// A vector of which each thread takes several elements, in place.
func TestVectorInPlace(t *testing.T) {
	d := devicetest.Open(t)
	n := 70_001
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := vectorM31(rng, n, 1), vectorM31(rng, n, 3)
	pa, err := kernels.NewSlice(d, a)
	must(t, err)
	defer d.Free(pa)
	pb, err := kernels.NewSlice(d, b)
	must(t, err)
	defer d.Free(pb)
	must(t, d.Launch(kernels.Kernel{Group: "field", Name: "m31_vec_mul"}, kernels.Launch{GridX: 3, Block: 96},
		uint64(pa), uint64(pa), uint64(pb), uint64(n)))
	got := make([]field.M31, n)
	must(t, kernels.DownloadSlice(d, got, pa))
	for i := range got {
		if want := a[i].Mul(b[i]); got[i] != want {
			t.Fatalf("[%d] = %v, want %v", i, got[i], want)
		}
	}
}

func TestVectorErrors(t *testing.T) {
	d := devicetest.Open(t)
	p, err := d.Alloc(64)
	must(t, err)
	defer d.Free(p)
	if err := kernels.AddQM31(d, p, p, p, -1); err == nil {
		t.Error("negative size")
	}
	if err := kernels.AddQM31(d, 0, p, p, 1); err == nil {
		t.Error("no memory")
	}
	if err := kernels.AddQM31(d, 0, 0, 0, 0); err != nil {
		t.Errorf("empty vector: %v", err)
	}
	if err := d.Launch(kernels.Kernel{Group: "field", Name: "none"}, kernels.Cover(1)); err == nil {
		t.Error("a kernel that is not there")
	}
	if err := d.Launch(kernels.Kernel{Group: "none", Name: "none"}, kernels.Cover(1)); err == nil {
		t.Error("a group that is not there")
	}
	if _, err := d.Alloc(0); err == nil {
		t.Error("empty allocation")
	}
	if _, err := kernels.AllocSlice[field.QM31](d, math.MaxInt); err == nil {
		t.Error("more elements than there are addresses")
	}
}
