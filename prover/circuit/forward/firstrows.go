package forward

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// FirstRows are the first rows of a run of a causal circuit, of those tensors alone that later rows read, such as the keys and values of an
// attention. They do not change.
type FirstRows struct {
	rows    int
	tensors []firstRowsOf
}

type firstRowsOf struct {
	id     model.TensorID
	axis   int
	shape  []int // with as many rows
	values []int32
}

// Keep returns the first rows, which must have been set or known, of what the caches of a RowCircuit of an instance of the
// template are of, as far as they are rows of an input.
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

// NewFirstRows returns so many rows of what caches are of, which are known in parts: those of every cache, in order, the rows of one behind
// those of the one before. g is an instance of any size.
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

// NewRowsFrom is NewRowsAfter where the first n rows are kept of another run that had the same there, and nothing is computed of later
// ones. It returns nil if some step has to be computed as a whole for every row. Witness returns nil for such rows.
func NewRowsFrom(k *FirstRows, n int, g *model.Graph, weights model.Weights, inputs [][]int32, axes []int) (*Rows, error) {
	r, err := beginRows(g, weights, inputs, axes)
	if err != nil {
		return nil, err
	}
	if whole, _ := r.Whole(); whole > 0 || n > k.rows {
		return nil, nil
	}
	room := make([]int32, entries(g)) // of which the system has only the pages that are written to
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
