package conformance

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// tensors compares evaluations and restrictions with the tensors' multilinear
// extensions: axes kept and bound in any pattern and order, entries of every width.
func tensors(t *testing.T, open Open) {
	rng := newRandom(1)
	shapes := [][]int{{}, {1}, {8}, {37}, {5, 3}, {16, 16}, {2, 1, 7}, {3, 37, 4}, {4, 3, 1, 5}}
	for range 8 {
		shape := make([]int, 1+rng.IntN(5))
		for i := range shape {
			shape[i] = []int{1, 2, 3, 4, 5, 16, 37}[rng.IntN(7)]
			if model.Size(shape[:i+1]) > 1<<9 {
				shape[i] = 1
			}
		}
		shapes = append(shapes, shape)
	}
	g, w := &model.Graph{}, &witness{}
	for i, shape := range shapes {
		kind := []model.Kind{model.Fixed, model.Witness}[i%2]
		g.Tensors = append(g.Tensors, model.Tensor{Kind: kind, Shape: shape})
		w.add(kind, rng.integers(model.Size(shape), []int{8, 16, 31}[i%3]))
	}
	b := open(g, w)
	defer b.Close()
	points := make([][]field.QM31, len(shapes))
	var all []backend.Evaluation
	for range 2 { // two points of each tensor, all at once; those of the second round are used below
		for i, shape := range shapes {
			points[i] = rng.elements(model.Vars(shape))
			all = append(all, backend.Evaluation{Tensor: model.TensorID(i), Point: points[i]})
		}
	}
	for i, got := range must(b.Eval(background, all))(t) {
		x := &all[i]
		if shape := shapes[x.Tensor]; got != poly.EvalTensor(shape, w.values(x.Tensor), x.Point) {
			t.Errorf("shape %v: wrong evaluation", shape)
		}
	}
	var list []backend.Restriction
	for i, shape := range shapes {
		id, point := model.TensorID(i), points[i]
		for range 4 {
			r := backend.Restriction{Tensor: id, Bound: make([][]field.QM31, len(shape))}
			for a, part := range poly.SplitAxes(shape, point) {
				if rng.IntN(2) == 0 {
					r.Keep = append(r.Keep, a)
				} else {
					r.Bound[a] = append([]field.QM31{}, part...)
				}
			}
			rng.Shuffle(len(r.Keep), func(i, j int) { r.Keep[i], r.Keep[j] = r.Keep[j], r.Keep[i] })
			list = append(list, r)
		}
	}
	for i, table := range must(b.Restrict(background, list))(t) {
		r := &list[i]
		shape := shapes[r.Tensor]
		if got := must(b.Download(background, table))(t); !slices.Equal(got, restricted(shape, w.values(r.Tensor), *r)) {
			t.Errorf("shape %v, %v kept: wrong table", shape, r.Keep)
		}
	}
}

// restricted is a restriction by definition: every entry is an evaluation.
func restricted(shape []int, values []int32, r backend.Restriction) []field.QM31 {
	vars := 0
	for _, a := range r.Keep {
		vars += model.Log2Ceil(shape[a])
	}
	table := make([]field.QM31, 1<<vars)
	for x := range table {
		parts := slices.Clone(r.Bound)
		rest := vars
		for _, a := range r.Keep {
			parts[a] = []field.QM31{}
			for range model.Log2Ceil(shape[a]) {
				rest--
				parts[a] = append(parts[a], field.FromM31(field.M31(x>>rest&1)))
			}
		}
		table[x] = poly.EvalTensor(shape, values, poly.JoinAxes(parts))
	}
	return table
}

// tables checks that tables keep their values, and inner products.
func tables(t *testing.T, open Open) {
	rng := newRandom(2)
	b := open(&model.Graph{}, &witness{})
	defer b.Close()
	var list []backend.Instance
	var want []field.QM31
	for _, vars := range []int{0, 1, 2, 5, 9, 12} {
		x, y := rng.elements(1<<vars), rng.elements(1<<vars)
		tx, ty := must(b.Upload(background, slices.Clone(x)))(t), must(b.Upload(background, slices.Clone(y)))(t)
		for _, n := range []int{0, vars / 2, vars} {
			eq, sum := rng.elements(n), field.Zero
			for i := range x {
				sum = sum.Add(poly.EqIndex(eq, uint64(i>>(vars-n))).Mul(x[i]).Mul(y[i]))
			}
			list, want = append(list, backend.Instance{Eq: eq, A: tx, B: ty}), append(want, sum)
		}
		again := must(b.Copy(background, must(b.Copy(background, tx))(t)))(t)
		if !slices.Equal(must(b.Download(background, again))(t), x) {
			t.Errorf("%d variables: wrong copy", vars)
		}
		copied := must(b.Download(background, tx))(t)
		if !slices.Equal(copied, x) {
			t.Errorf("2^%d entries: others come back", vars)
		}
		clear(copied)
		if !slices.Equal(must(b.Download(background, tx))(t), x) {
			t.Errorf("2^%d entries: what comes back is not a copy", vars)
		}
	}
	if got := must(b.Inner(background, list))(t); !slices.Equal(got, want) {
		t.Error("wrong inner products")
	}
}
