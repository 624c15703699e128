package conformance

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// tensors compares Eval and Restrict with the multilinear extensions of tensors. Axes are kept and
// bound in any pattern, and kept in any order; entries have every width.
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

// productTensors compares restrictions of tensors that are defined as products with restrictions of their values. Some products have the
// layout of layers of experts, with all rows bound; others have any layout.
func productTensors(t *testing.T, open Open) {
	rng := newRandom(4)
	type product struct {
		by, x, shape     []int
		labelsBy, labels []int
		keep             []int // nil: drawn
	}
	for _, c := range []product{
		{[]int{5, 2, 4}, []int{5, 37}, []int{5, 2, 4, 37}, []int{0, 1, 2}, []int{0, 3}, []int{2, 3}},
		{[]int{3, 3, 4}, []int{3, 3, 16}, []int{3, 3, 4, 16}, []int{0, 1, 2}, []int{0, 1, 3}, []int{2, 3}},
		{[]int{2, 3, 2, 5}, []int{2, 3, 8}, []int{2, 3, 2, 5, 8}, []int{0, 1, 2, 3}, []int{0, 1, 4}, []int{3, 4}},
		{[]int{7}, []int{1500}, []int{7, 1500}, []int{0}, []int{1}, []int{0, 1}},
		{[]int{5, 2, 4}, []int{5, 37}, []int{5, 2, 4, 37}, []int{0, 1, 2}, []int{0, 3}, []int{3, 2}},
		{[]int{5, 2, 4}, []int{5, 37}, []int{5, 2, 4, 37}, []int{0, 1, 2}, []int{0, 3}, nil},
		{[]int{4, 3}, []int{5, 3}, []int{3, 5, 4}, []int{2, 0}, []int{1, 0}, nil},
		{[]int{}, []int{6}, []int{6}, nil, []int{0}, nil},
		{[]int{6, 2}, []int{}, []int{2, 6}, []int{1, 0}, nil, nil},
	} {
		by := make([]int32, model.Size(c.by))
		for i := range by {
			by[i] = int32(max(0, rng.IntN(9)-6))
		}
		if len(by) > 0 {
			by[0] = -3
		}
		x := rng.integers(model.Size(c.x), 14)
		z := make([]int32, model.Size(c.shape))
		for i := range z {
			at := func(shape, labels []int) int {
				n, rest, index := 0, i, make([]int, len(c.shape))
				for a := len(c.shape) - 1; a >= 0; a-- {
					index[a], rest = rest%c.shape[a], rest/c.shape[a]
				}
				for a, l := range labels {
					n = n*shape[a] + index[l]
				}
				return n
			}
			z[i] = by[at(c.by, c.labelsBy)] * x[at(c.x, c.labels)]
		}
		g, w := &model.Graph{}, &witness{}
		for _, s := range []struct {
			shape  []int
			values []int32
		}{{c.by, by}, {c.x, x}} {
			g.Tensors = append(g.Tensors, model.Tensor{Kind: model.Witness, Shape: s.shape, Min: -1 << 14, Max: 1 << 14})
			w.add(model.Witness, s.values)
		}
		g.Tensors = append(g.Tensors, model.Tensor{Kind: model.Virtual, Shape: c.shape, Product: &model.Product{Coef: 1, A: 0, B: 1, LabelsA: c.labelsBy, LabelsB: c.labels}})
		w.add(model.Virtual, z)
		b := open(g, w)
		var list []backend.Restriction
		for range 3 {
			r := backend.Restriction{Tensor: 2, Bound: make([][]field.QM31, len(c.shape)), Keep: slices.Clone(c.keep)}
			for a, d := range c.shape {
				switch {
				case c.keep == nil && rng.IntN(2) == 0:
					r.Keep = append(r.Keep, a)
				case !slices.Contains(c.keep, a):
					r.Bound[a] = append([]field.QM31{}, rng.elements(model.Log2Ceil(d))...)
				}
			}
			list = append(list, r)
		}
		for i, table := range must(b.Restrict(background, list))(t) {
			if got := must(b.Download(background, table))(t); !slices.Equal(got, restricted(c.shape, z, list[i])) {
				t.Errorf("product of shapes %v and %v, %v kept: wrong table", c.by, c.x, list[i].Keep)
			}
		}
		b.Close()
	}
}

// restricted returns a restriction by its definition: a sum over the indexes of the bound axes, each with its eq weight.
func restricted(shape []int, values []int32, r backend.Restriction) []field.QM31 {
	weights := make([][]field.QM31, len(shape)) // of an axis that is bound, by place
	for a, point := range r.Bound {
		for i := range shape[a] {
			if point != nil {
				weights[a] = append(weights[a], poly.EqIndex(point, uint64(i)))
			}
		}
	}
	vars := 0
	steps := make([]int, len(shape)) // of an axis that is kept, in the table
	for _, a := range slices.Backward(r.Keep) {
		steps[a] = 1 << vars
		vars += model.Log2Ceil(shape[a])
	}
	table := make([]field.QM31, 1<<vars)
	for i, v := range values {
		at, term := 0, field.FromM31(field.FromInt32(v))
		for a, rest := len(shape)-1, i; a >= 0; a-- {
			place := rest % shape[a]
			rest /= shape[a]
			at += steps[a] * place
			if weights[a] != nil {
				term = term.Mul(weights[a][place])
			}
		}
		table[at] = table[at].Add(term)
	}
	return table
}

// tables checks that Upload, Copy and Download keep values, and that Inner returns the right sums.
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
