package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// drawView makes a random view and the shapes it fits: slices, windows,
// broadcasts, sums, gathers and reshapes, on axes in any order, and the inputs that
// wire it.
func drawView(t *rapid.T) (v *View, in, out []int, inputs []Tensor) {
	v = &View{}
	summed := false
	n := rapid.IntRange(1, 3).Draw(t, "groups")
	var outDims []int
	for range n {
		dim := rapid.IntRange(1, 5).Draw(t, "dim")
		at := len(in)
		switch rapid.IntRange(0, 7).Draw(t, "map") {
		case 0: // window
			a, b := rapid.IntRange(1, 4).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b")
			v.Groups = append(v.Groups, Group{
				Out: []int{len(outDims), len(outDims) + 1}, In: []int{at},
				Base: rapid.IntRange(-2, 3).Draw(t, "base"), Strides: []int{rapid.IntRange(-2, 2).Draw(t, "s"), 1},
			})
			if s := &v.Groups[len(v.Groups)-1]; s.Strides[0] == 0 {
				s.Strides[0] = 1
			}
			outDims = append(outDims, a, b)
			in = append(in, dim)
		case 1: // broadcast
			v.Groups = append(v.Groups, Group{Out: []int{len(outDims)}, Strides: []int{0}})
			outDims = append(outDims, dim)
		case 2: // sum
			summed = true
			a := rapid.IntRange(1, 3).Draw(t, "a")
			v.Groups = append(v.Groups, Group{
				Out: []int{len(outDims)}, In: []int{at}, Strides: []int{1},
				Sum: []SumIndex{{Dim: rapid.IntRange(1, 3).Draw(t, "n"), Stride: rapid.IntRange(1, 2).Draw(t, "by")}},
			})
			outDims = append(outDims, a)
			in = append(in, dim)
		case 3: // gather
			idx := rapid.SliceOfN(rapid.IntRange(-1, dim-1), 1, 4).Draw(t, "index")
			v.Groups = append(v.Groups, Group{Out: []int{len(outDims)}, In: []int{at}, Map: MapIndex, Index: idx})
			outDims = append(outDims, len(idx))
			in = append(in, dim)
		case 4: // reshape
			b := rapid.IntRange(1, 3).Draw(t, "b")
			v.Groups = append(v.Groups, Group{Out: []int{len(outDims), len(outDims) + 1}, In: []int{at}, Map: MapReshape})
			outDims = append(outDims, dim, b)
			in = append(in, dim*b)
		case 5: // gather by public indexes
			a, b := rapid.IntRange(1, 3).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b")
			ids := rapid.SliceOfN(rapid.Int32Range(0, int32(dim-1)), a*b, a*b).Draw(t, "ids")
			v.Groups = append(v.Groups, Group{Out: []int{len(outDims), len(outDims) + 1}, In: []int{at}, Map: MapPublic,
				Ids: TensorID(len(inputs)), Entries: ids})
			inputs = append(inputs, Tensor{Shape: []int{b * a}, Kind: Input, Max: int64(dim - 1)})
			outDims = append(outDims, a, b)
			in = append(in, dim)
		case 6: // slice
			by := rapid.SampledFrom([]int{-1, 1, 2, 3}).Draw(t, "by")
			v.Groups = append(v.Groups, Group{
				Out: []int{len(outDims)}, In: []int{at}, Base: rapid.IntRange(-4, 6).Draw(t, "base"), Strides: []int{by},
			})
			outDims = append(outDims, rapid.IntRange(1, 6).Draw(t, "a"))
			in = append(in, dim)
		case 7: // axes that are one axis of the source
			a, b := rapid.IntRange(1, 3).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b")
			v.Groups = append(v.Groups, Group{
				Out: []int{len(outDims), len(outDims) + 1}, In: []int{at}, Base: rapid.IntRange(-2, 2).Draw(t, "base"), Strides: []int{b, 1},
			})
			outDims = append(outDims, a, b)
			in = append(in, dim)
		}
	}
	// Permute the output axes.
	perm := rapid.Permutation(upTo(len(outDims))).Draw(t, "perm")
	out = make([]int, len(outDims))
	for i, p := range perm {
		out[p] = outDims[i]
	}
	for g := range v.Groups {
		for j, a := range v.Groups[g].Out {
			v.Groups[g].Out[j] = perm[a]
		}
	}
	if !summed {
		v.Fill = int64(rapid.IntRange(-3, 3).Draw(t, "fill"))
	}
	return v, in, out, inputs
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func TestAccumulateAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, in, out, inputs := drawView(t)
		if err := v.validate(inputs, out, in); err != nil {
			t.Fatal(err)
		}
		src := rapid.SliceOfN(rapid.Int32Range(-9, 9), Size(in), Size(in)).Draw(t, "src")
		want := v.apply(src, in, out)
		acc := make([]int64, Size(out))
		for i := range acc {
			acc[i] = int64(i)
		}
		list, _ := ints.Make(len(src), rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "width"), func(dst []int32, from int) { copy(dst, src[from:]) })
		v.Accumulate(acc, -3, list, in, out)
		for i, x := range want {
			if acc[i] != int64(i)-3*int64(x) {
				t.Fatalf("entry %d: %d, want %d", i, acc[i], int64(i)-3*int64(x))
			}
		}
		if !v.Sums() {
			if got := ints.All(v.Gather(list, in, out)); !slices.Equal(got, want) {
				t.Fatalf("Gather %v, reference %v", got, want)
			}
		}
		if list, axes, ok := v.Offsets(list, in, out); ok {
			data := ints.All(list)
			if v.Sums() {
				t.Fatal("Offsets of a view that sums")
			}
			at := []int{0}
			for _, offsets := range axes {
				var next []int
				for _, o := range at {
					for _, d := range offsets {
						next = append(next, o+d)
					}
				}
				at = next
			}
			for i, o := range at {
				if data[o] != want[i] {
					t.Fatalf("Offsets: entry %d is %d, want %d", i, data[o], want[i])
				}
			}
		}
	})
}

// A view that is large enough for the parallel path, with a sum in the group
// that is split.
func TestAccumulateParallel(t *testing.T) {
	in, out := []int{70, 300}, []int{64, 300}
	v := &View{Groups: []Group{
		{Out: []int{0}, In: []int{0}, Base: -1, Strides: []int{1}, Sum: []SumIndex{{Dim: 5, Stride: 2}}},
		{Out: []int{1}, In: []int{1}, Strides: []int{1}},
	}}
	src := make([]int32, Size(in))
	for i := range src {
		src[i] = int32(i % 101)
	}
	want := v.apply(src, in, out)
	acc := make([]int64, Size(out))
	v.Accumulate(acc, 1, ints.Int32s(src), in, out)
	for i := range want {
		if acc[i] != int64(want[i]) {
			t.Fatalf("entry %d: %d, want %d", i, acc[i], want[i])
		}
	}
}

// Views that are large enough for the parallel path, and whose pairs lie evenly: what is
// split is a group that is not the last, or the only one.
func TestGatherParallel(t *testing.T) {
	for name, c := range map[string]struct {
		v       *View
		in, out []int
	}{
		"transposed": {&View{Groups: []Group{
			{Out: []int{1}, In: []int{0}, Strides: []int{1}},
			{Out: []int{0}, In: []int{1}, Strides: []int{1}},
		}}, []int{70, 600}, []int{600, 70}},
		"one axis":    {&View{Groups: []Group{{Out: []int{0}, In: []int{0}, Base: -3, Strides: []int{1}}}, Fill: 7}, []int{40000}, []int{50000}},
		"every other": {&View{Groups: []Group{{Out: []int{0}, In: []int{0}, Base: 1, Strides: []int{2}}}}, []int{100000}, []int{49000}},
		"reshape":     {&View{Groups: []Group{{Out: []int{0, 1}, In: []int{0}, Map: MapReshape}}}, []int{40000}, []int{200, 200}},
	} {
		src := make([]int32, Size(c.in))
		for i := range src {
			src[i] = int32(i % 1013)
		}
		if got, want := ints.All(c.v.Gather(ints.Int32s(src), c.in, c.out)), c.v.apply(src, c.in, c.out); !slices.Equal(got, want) {
			t.Errorf("%s: Gather differs from the reference", name)
		}
	}
}

// apply is the reference: it returns the view of src (dense, of shape in) as a dense tensor of
// shape out.
func (v *View) apply(src []int32, in, out []int) []int32 {
	dst := make([]int32, Size(out))
	if v == nil {
		copy(dst, src)
		return dst
	}
	outStride, inStride := strides(out), strides(in)
	// For each group the wired pairs as dense offsets, then their product.
	lists := make([][]pair, len(v.Groups))
	for k := range v.Groups {
		g := &v.Groups[k]
		g.ForEach(out, in, func(o, i int) {
			lists[k] = append(lists[k], pair{unravel(o, g.Out, out, outStride), unravel(i, g.In, in, inStride)})
		})
		if len(lists[k]) == 0 && v.Fill == 0 {
			return dst
		}
	}
	var wired []bool
	if v.Fill != 0 {
		wired = make([]bool, len(dst))
	}
	var rec func(k, o, i int)
	rec = func(k, o, i int) {
		if k == len(lists) {
			dst[o] += src[i]
			if wired != nil {
				wired[o] = true
			}
			return
		}
		if k == len(lists)-1 && wired == nil {
			for _, p := range lists[k] {
				dst[o+p.o] += src[i+p.i]
			}
			return
		}
		for _, p := range lists[k] {
			rec(k+1, o+p.o, i+p.i)
		}
	}
	rec(0, 0, 0)
	for o, w := range wired {
		if !w {
			dst[o] = int32(v.Fill)
		}
	}
	return dst
}

// A fill value that the source's type does not hold widens the view.
func TestWideFill(t *testing.T) {
	v := &View{Fill: 300, Groups: []Group{{Out: []int{0}, In: []int{0}, Base: -1, Strides: []int{1}}}}
	in, out := []int{2}, []int{4}
	src, want := ints.Int8s{-5, 127}, []int32{300, -5, 127, 300}
	if got := ints.All(v.Gather(src, in, out)); !slices.Equal(got, want) {
		t.Errorf("Gather %v, want %v", got, want)
	}
	data, axes, ok := v.Offsets(src, in, out)
	if !ok {
		t.Fatal("not described")
	}
	for i, o := range axes[0] {
		if got := ints.All(data)[o]; got != want[i] {
			t.Errorf("entry %d is %d, want %d", i, got, want[i])
		}
	}
	acc := make([]int64, 4)
	v.Accumulate(acc, 2, src, in, out)
	if !slices.Equal(acc, []int64{600, -10, 254, 600}) {
		t.Errorf("sum %v", acc)
	}
}

// Windows with padding are what Offsets is for: it must not give up on them.
func TestOffsetsOfWindows(t *testing.T) {
	v := &View{Groups: []Group{
		{Out: []int{0, 2}, In: []int{0}, Base: -1, Strides: []int{1, 2}},
		{Out: []int{1}, In: []int{1}, Strides: []int{1}},
	}}
	in, out := []int{6, 2}, []int{3, 2, 3}
	src := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	list, axes, ok := v.Offsets(ints.Int32s(src), in, out)
	if !ok {
		t.Fatal("not described")
	}
	data := ints.All(list)
	for i, want := range v.apply(src, in, out) {
		if got := data[axes[0][i/6]+axes[1][i/3%2]+axes[2][i%3]]; got != want {
			t.Errorf("entry %d is %d, want %d", i, got, want)
		}
	}
}
