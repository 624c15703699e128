package plan

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

func randomPoint(rng *rand.Rand, n int) []field.QM31 {
	p := make([]field.QM31, n)
	for i := range p {
		p[i] = field.NewQM31(limb(rng), limb(rng), limb(rng), limb(rng))
	}
	return p
}

func limb(rng *rand.Rand) field.M31 { return field.M31(rng.Uint32N(field.P)) }

// TestProduct compares a product at a point with the MLE of its entries.
func TestProduct(t *testing.T) {
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
		g := &model.Graph{Tensors: []model.Tensor{{Shape: Pick(dims, p.LabelsA)}, {Shape: Pick(dims, p.LabelsB)}}}
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

		c := newProduct(g, p, out)
		at := challenges(LookUpPoint, len(rho), len(rho))
		kept := challenges(EquationPoint, c.Vars, c.Vars)
		r := &reducer{p: &Plan{Graph: g}}
		sum := c.at(p, len(g.Tensors[0].Shape), len(g.Tensors[1].Shape), at, &r.room)
		got := field.Zero
		for x := range 1 << c.Vars {
			bits := make([]field.QM31, c.Vars)
			for j := range bits {
				bits[j] = field.FromM31(field.M31(x >> (len(bits) - 1 - j) & 1))
			}
			resolve := func(p Point) []field.QM31 {
				v := make([]field.QM31, len(p))
				for i, c := range p {
					v[i] = map[int][]field.QM31{LookUpPoint: rho, EquationPoint: bits}[c.List()][c.Index()]
				}
				return v
			}
			eq := resolve(sum.Eq)
			va := poly.EvalTensor(g.Tensors[0].Shape, data[0], resolve(r.end(&sum.A, kept)))
			vb := poly.EvalTensor(g.Tensors[1].Shape, data[1], resolve(r.end(&sum.B, kept)))
			got = got.Add(poly.Eq(eq, bits[:len(eq)]).Mul(va).Mul(vb))
		}
		for _, l := range c.Repeat {
			got = got.Mul(poly.MaskEval(poly.SplitAxes(out, rho)[l.Out], uint64(l.Dim)))
		}
		if got != want {
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
