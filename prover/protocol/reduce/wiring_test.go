package reduce

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

func randomPoint(rng *rand.Rand, n int) []field.QM31 {
	p := make([]field.QM31, n)
	for i := range p {
		p[i] = field.NewQM31(limb(rng), limb(rng), limb(rng), limb(rng))
	}
	return p
}

func limb(rng *rand.Rand) field.M31 { return field.M31(rng.Uint32N(field.P)) }

// drawView returns a view of random groups with its shapes: windows, slices,
// pads, index lists, public indexes, sums, broadcasts and reshapes, output axes shuffled.
func drawView(t *rapid.T) (v *model.View, out, in []int) {
	v = &model.View{}
	sums := false
	dim := func(name string) int { return rapid.IntRange(1, 6).Draw(t, name) }
	newOut := func(d int) int { out = append(out, d); return len(out) - 1 }
	newIn := func(d int) int { in = append(in, d); return len(in) - 1 }
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		var g model.Group
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0: // identity
			d := dim("d")
			g = model.Group{Out: []int{newOut(d)}, In: []int{newIn(d)}, Strides: []int{1}}
		case 1: // slice or pad with a stride
			g = model.Group{Out: []int{newOut(dim("o"))}, In: []int{newIn(dim("i"))},
				Strides: []int{rapid.IntRange(-2, 3).Draw(t, "stride")}, Base: rapid.IntRange(-2, 5).Draw(t, "base")}
		case 2: // windows
			g = model.Group{Out: []int{newOut(dim("o")), newOut(dim("k"))}, In: []int{newIn(dim("i"))},
				Strides: []int{rapid.IntRange(1, 2).Draw(t, "s"), rapid.IntRange(1, 2).Draw(t, "d")}, Base: rapid.IntRange(-2, 1).Draw(t, "pad")}
		case 3: // summed windows
			sums = true
			g = model.Group{Out: []int{newOut(dim("o"))}, In: []int{newIn(dim("i"))}, Strides: []int{1},
				Sum: []model.SumIndex{{Dim: dim("k"), Stride: 1}}}
		case 4: // index list
			d, o := dim("i"), dim("o")
			g = model.Group{Out: []int{newOut(o)}, In: []int{newIn(d)}, Map: model.MapIndex}
			for range o {
				g.Index = append(g.Index, rapid.IntRange(-1, d-1).Draw(t, "index"))
			}
		case 5: // broadcast
			g = model.Group{Out: []int{newOut(dim("o"))}, Strides: []int{0}}
		case 6: // reshape of (a, b) to (b, a)
			a, b := dim("a"), dim("b")
			g = model.Group{Out: []int{newOut(b), newOut(a)}, In: []int{newIn(a), newIn(b)}, Map: model.MapReshape}
		case 7: // public indexes
			d, a, b := dim("i"), dim("a"), dim("b")
			g = model.Group{Out: []int{newOut(a), newOut(b)}, In: []int{newIn(d)}, Map: model.MapPublic}
			g.Entries = rapid.SliceOfN(rapid.Int32Range(0, int32(d-1)), a*b, a*b).Draw(t, "ids")
		}
		v.Groups = append(v.Groups, g)
	}
	if !sums {
		v.Fill = int64(rapid.IntRange(-3, 3).Draw(t, "fill"))
	}
	perm := rapid.Permutation(upTo(len(out))).Draw(t, "axes")
	shuffled := make([]int, len(out))
	for i, p := range perm {
		shuffled[p] = out[i]
	}
	for i := range v.Groups {
		for j, a := range v.Groups[i].Out {
			v.Groups[i].Out[j] = perm[a]
		}
	}
	return v, shuffled, in
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// TestWiring compares the functional on the source with the MLE of the view's
// own entries, and the verifier's evaluation of the weights with their table.
func TestWiring(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, out, in := drawView(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		src := make([]int32, model.Size(in))
		for i := range src {
			src[i] = rng.Int32N(2001) - 1000
		}
		acc := make([]int64, model.Size(out))
		v.Accumulate(acc, 1, ints.Int32s(src), in, out)
		dst := make([]int32, len(acc))
		for i, x := range acc {
			dst[i] = int32(x)
		}
		r := randomPoint(rng, model.Vars(out))
		want := poly.EvalTensor(out, dst, r)

		w := plan.NewWiring(v, out, in)
		// Σ over the kept axes' cube of src~(bound, x)·table(x).
		all := table(w, r)
		got := field.Zero
		for x, weight := range all {
			bits := make([]field.QM31, w.Vars)
			for j := range bits {
				bits[j] = field.FromM31(field.M31(x >> (len(bits) - 1 - j) & 1))
			}
			got = got.Add(weight.Mul(poly.EvalTensor(in, src, source(w, r, bits))))
		}
		if v.Fill != 0 {
			padding := poly.TensorMask(out, poly.SplitAxes(out, r)).Sub(ones(w, r))
			got = got.Add(padding.MulM31(field.FromInt64(v.Fill)))
		}
		if got != want {
			t.Fatalf("view %+v of %v as %v: wrong value", v, in, out)
		}
		end := randomPoint(rng, w.Vars)
		if weights(w, r, end) != poly.Eval(all, end) {
			t.Fatalf("view %+v of %v as %v: wrong weights", v, in, out)
		}
	})
}

// source returns the point of the source when the kept axes are bound.
func source(w *plan.Wiring, r, kept []field.QM31) []field.QM31 {
	parts := make([][]field.QM31, len(w.In))
	for a, places := range w.Bound {
		parts[a] = plan.Pick(r, places)
	}
	for j, part := range poly.SplitAxes(plan.Pick(w.In, w.Keep), kept) {
		parts[w.Keep[j]] = part
	}
	return poly.JoinAxes(parts)
}

// TestLongAxes is TestWiring for axes whose weights are not kept whole.
func TestLongAxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	long := 1<<20 + 12345
	index, ids := make([]int, 5000), make([]int32, 5000)
	for i := range index {
		index[i] = rng.IntN(long+1) - 1
		ids[i] = int32(rng.IntN(long))
	}
	for name, c := range map[string]struct {
		out, in []int
		g       model.Group
	}{
		"stride":  {[]int{70000}, []int{long}, model.Group{Out: []int{0}, In: []int{0}, Base: long + 5, Strides: []int{-17}}},
		"windows": {[]int{9000, 3}, []int{long}, model.Group{Out: []int{0, 1}, In: []int{0}, Base: -4, Strides: []int{20, 7}}},
		"index":   {[]int{len(index)}, []int{long}, model.Group{Out: []int{0}, In: []int{0}, Map: model.MapIndex, Index: index}},
		"public":  {[]int{5, 1000}, []int{long}, model.Group{Out: []int{1, 0}, In: []int{0}, Map: model.MapPublic, Entries: ids}},
		"sum":     {[]int{6}, []int{long}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{300000}, Sum: []model.SumIndex{{Dim: 30000, Stride: 1}}}},
		"reshape": {[]int{3, 70001}, []int{70001, 3}, model.Group{Out: []int{0, 1}, In: []int{0, 1}, Map: model.MapReshape}},
	} {
		v := &model.View{Groups: []model.Group{c.g}}
		w := plan.NewWiring(v, c.out, c.in)
		r, end := randomPoint(rng, model.Vars(c.out)), randomPoint(rng, w.Vars)
		if weights(w, r, end) != poly.Eval(table(w, r), end) {
			t.Errorf("%s: wrong weights", name)
		}
		want := field.Zero
		eq := poly.OuterEq(c.out, poly.SplitAxes(c.out, r))
		c.g.ForEach(c.out, c.in, func(o, _ int) { want = want.Add(eq[o]) })
		if name != "sum" && ones(w, r) != want {
			t.Errorf("%s: wrong view of ones", name)
		}
	}
}
