package forward

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// FirstRows has the first rows of a run of a causal circuit, but only of those tensors that later rows read, such as the keys and values of
// an attention. They do not change.
type FirstRows struct {
	rows    int // how many
	tensors []firstRowsOf
}

// firstRowsOf has the first rows, along an axis, of one tensor.
type firstRowsOf struct {
	id     model.TensorID
	axis   int
	shape  []int // the shape of values: that of the tensor, but with FirstRows.rows indexes on the axis
	values []int32
}

// Keep returns the first rows of the tensors that the caches of a RowCircuit are for, as far as these tensors are computed from rows of the
// given input. rows is the number of first rows, all of which must have been set or known. The RowCircuit may be of another instance of the
// template.
func (r *Rows) Keep(caches []RowCache, input, rows int) *FirstRows {
	k := &FirstRows{rows: rows}
	for _, c := range caches {
		t := &r.g.Tensors[c.Of]
		if t.Kind == model.Input || r.of(c.Of).input != input {
			continue
		}
		shape := slices.Clone(t.Shape)
		shape[c.Axis] = rows
		k.tensors = append(k.tensors, firstRowsOf{c.Of, c.Axis, shape, slices.Clone(shrunk(r.Values[c.Of], t.Shape, shape))})
	}
	return k
}

// NewFirstRows returns the first rows of the tensors that caches are for, from parts: parts[i] has the rows of the tensor of cache i as
// several tensors, one behind the other along the axis of rows. g is an instance of the template, of any size.
func NewFirstRows(g *model.Graph, caches []RowCache, rows int, parts [][][]int32) *FirstRows {
	k := &FirstRows{rows: rows}
	for i, c := range caches {
		shape := slices.Clone(g.Tensors[c.Of].Shape)
		shape[c.Axis] = rows
		inner := model.Size(shape[c.Axis+1:])
		outer := model.Size(shape[:c.Axis])
		v := make([]int32, 0, model.Size(shape))
		for at := range outer {
			for _, p := range parts[i] {
				n := len(p) / outer // entries of one index of the axes before
				v = append(v, p[at*n:][:n]...)
			}
		}
		k.tensors = append(k.tensors, firstRowsOf{c.Of, c.Axis, shape, v[:outer*rows*inner]})
	}
	return k
}

// NewRowsFrom is NewRowsAfter with the first n rows taken from k, which another run with the same inputs in these rows has kept. It returns
// nil if k has fewer rows, or if some step has to be computed as a whole for every row. Rows.Witness returns nil for the result, as only
// some tensors have their first rows.
func NewRowsFrom(k *FirstRows, n int, g *model.Graph, weights model.Weights, inputs [][]int32, axes []int) (*Rows, error) {
	r, err := beginRows(g, weights, inputs, axes)
	if err != nil {
		return nil, err
	}
	if whole, _ := r.Whole(); whole > 0 || n > k.rows {
		return nil, nil
	}
	room := make([]int32, entries(g)) // the system provides only those pages that are written to
	if err := r.eachOfRows(func(_ int, s *model.Step) {
		for _, id := range s.Results() {
			size := model.Size(g.Tensors[id].Shape)
			r.Values[id], room = room[:size:size], room[size:]
		}
	}); err != nil {
		return nil, err
	}
	for _, t := range k.tensors {
		part := slices.Clone(t.shape)
		part[t.axis] = n
		grown := growing{r.Values[t.id], shrunk(t.values, t.shape, part), part, g.Tensors[t.id].Shape}
		grown.fill()
	}
	r.Keys = make([][]int32, len(g.Steps)) // only proofs need them
	clear(r.cache)
	return r, nil
}
