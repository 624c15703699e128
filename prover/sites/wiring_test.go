package sites

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
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
// pads, index lists, sums, broadcasts and reshapes, output axes shuffled.
func drawView(t *rapid.T) (v *model.View, out, in []int) {
	v = &model.View{}
	sums := false
	dim := func(name string) int { return rapid.IntRange(1, 6).Draw(t, name) }
	newOut := func(d int) int { out = append(out, d); return len(out) - 1 }
	newIn := func(d int) int { in = append(in, d); return len(in) - 1 }
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		var g model.Group
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
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
		v.Accumulate(acc, 1, src, in, out)
		dst := make([]int32, len(acc))
		for i, x := range acc {
			dst[i] = int32(x)
		}
		r := randomPoint(rng, model.Vars(out))
		want := poly.EvalTensor(out, dst, r)

		w := newWiring(v, out, in, r)
		// Σ over the kept axes' cube of src~(bound, x)·table(x).
		table := w.table()
		got := field.Zero
		for x, weight := range table {
			bits := make([]field.QM31, w.vars())
			for j := range bits {
				bits[j] = field.FromM31(field.M31(x >> (len(bits) - 1 - j) & 1))
			}
			got = got.Add(weight.Mul(poly.EvalTensor(in, src, w.source(bits))))
		}
		padding := poly.TensorMask(out, poly.SplitAxes(out, r)).Sub(w.ones)
		if v.Fill != 0 {
			got = got.Add(padding.MulM31(field.FromInt64(v.Fill)))
		}
		if got != want {
			t.Fatalf("view %+v of %v as %v: wrong value", v, in, out)
		}
		end := randomPoint(rng, w.vars())
		if w.eval(end) != poly.Eval(table, end) {
			t.Fatalf("view %+v of %v as %v: wrong weights", v, in, out)
		}
	})
}

// TestContraction compares a product at a point with the MLE of its entries.
func TestContraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Labels 0..rank−1 are output axes; each is in A, in B, in both or in
		// neither. Two contracted labels.
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		dims := make([]int, rank+2)
		for i := range dims {
			dims[i] = rapid.IntRange(1, 4).Draw(t, "dim")
		}
		p := &model.Product{Coef: 1, A: 0, B: 1}
		for l := range rank {
			where := rapid.IntRange(0, 3).Draw(t, "where")
			if where&1 != 0 {
				p.LabelsA = append(p.LabelsA, l)
			}
			if where&2 != 0 {
				p.LabelsB = append(p.LabelsB, l)
			}
		}
		for l := rank; l < rank+rapid.IntRange(0, 2).Draw(t, "contracted"); l++ {
			p.LabelsA, p.LabelsB = append(p.LabelsA, l), append(p.LabelsB, l)
		}
		p.LabelsA = rapid.Permutation(p.LabelsA).Draw(t, "A")
		p.LabelsB = rapid.Permutation(p.LabelsB).Draw(t, "B")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		g := &model.Graph{Tensors: []model.Tensor{{Shape: pick(dims, p.LabelsA)}, {Shape: pick(dims, p.LabelsB)}}}
		data := make([][]int32, 2)
		for i := range data {
			data[i] = make([]int32, model.Size(g.Tensors[i].Shape))
			for j := range data[i] {
				data[i][j] = rng.Int32N(201) - 100
			}
		}
		out := dims[:rank]
		rho := randomPoint(rng, model.Vars(out))
		want := poly.EvalTensor(out, einsum(dims, rank, p, data), rho)

		c := newContraction(g, p, out, rho)
		got := field.Zero
		for x := range 1 << c.numVars() {
			bits := make([]field.QM31, c.numVars())
			for j := range bits {
				bits[j] = field.FromM31(field.M31(x >> (len(bits) - 1 - j) & 1))
			}
			a := poly.EvalTensor(g.Tensors[0].Shape, data[0], c.operand(p.LabelsA, bits))
			b := poly.EvalTensor(g.Tensors[1].Shape, data[1], c.operand(p.LabelsB, bits))
			got = got.Add(poly.Eq(c.eq, bits[:len(c.eq)]).Mul(a).Mul(b))
		}
		if got.Mul(c.mask) != want {
			t.Fatalf("%v · %v over %v: wrong value", p.LabelsA, p.LabelsB, dims)
		}
	})
}

// einsum is the product by its definition.
func einsum(dims []int, rank int, p *model.Product, data [][]int32) []int32 {
	out := make([]int32, model.Size(dims[:rank]))
	used := map[int]bool{}
	for _, l := range p.LabelsA {
		used[l] = true
	}
	index := make([]int, len(dims))
	at := func(labels []int) (off int) {
		for _, l := range labels {
			off = off*dims[l] + index[l]
		}
		return off
	}
	var rec func(l int)
	rec = func(l int) {
		if l == len(dims) {
			off := 0
			for i := range rank {
				off = off*dims[i] + index[i]
			}
			out[off] += data[0][at(p.LabelsA)] * data[1][at(p.LabelsB)]
			return
		}
		n := dims[l]
		if l >= rank && !used[l] {
			n = 1
		}
		for index[l] = 0; index[l] < n; index[l]++ {
			rec(l + 1)
		}
	}
	rec(0)
	return out
}
