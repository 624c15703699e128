package quantise

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/model"
)

// Where the batch is free, a key is for batches of any size. So what is chosen depends on the
// elements that there are to judge formats with alone, and on their order: not on how samples
// are cut into batches, nor on the size of a run. Look-ups, tables and products are counted for
// one element, as lowering does, and the first elements are joined to one batch: as many as
// there are samples otherwise, or more of them as long as that is little work and memory.
const (
	elementWork    = 1 << 28 // products of numbers in a run
	elementEntries = 1 << 26 // of tensors
)

// errOneBatch says that a model does not leave its batch free.
var errOneBatch = errors.New("the circuit is for one size of the batch")

// chooseFree is Choose for a model whose batch is free: errOneBatch if it is not.
func chooseFree(ctx context.Context, fg *graph.Graph, batch string, samples []Sample, ranges map[string]Range, opts Options) (*Model, *Choice, error) {
	pair, err := Pair(fg)
	if err != nil {
		return nil, nil, errOneBatch
	}
	open := *pair
	open.Rebind = fg.Rebind
	s := &search{ctx: ctx, fg: &open, ranges: ranges, opts: opts, free: true, judged: true}
	defer s.memory.Close()
	first, err := s.make(opts.Formats)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, errOneBatch // or no model at all, of which the other search tells
	}
	s.runs--
	if s.samples, err = joined(fg, batch, samples, first); err != nil {
		return nil, nil, err
	}
	m, c, err := s.choose()
	if err != nil {
		return nil, nil, err
	}
	if m, err = m.At(model.Instance{Sizes: []int{fg.Inputs[0].Shape[0]}}); err != nil {
		return nil, nil, errOneBatch // the run is beyond the circuit's bound
	}
	return m, c, nil
}

// judged is how many elements of so many products and entries formats are judged with.
func judged(products float64, entries int) int {
	return max(1, min(MostSamples, int(sampleWork/products)), min(int(elementWork/products), elementEntries/entries))
}

// perElement is the number of entries that tensors have for each element of the batch, at
// least 1, of a model of one.
func (m *Model) perElement() (int, error) {
	two, err := m.Circuit.At(model.Instance{Sizes: []int{2}})
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range two.Tensors {
		n += model.Size(two.Tensors[i].Shape) - model.Size(m.Graph.Tensors[i].Shape)
	}
	return max(n, 1), nil
}

// joined returns the first elements of samples as one batch: as many as formats of a model are
// judged with, of which one element is given, or all.
func joined(fg *graph.Graph, batch string, samples []Sample, one *Model) ([]Sample, error) {
	size := func(s Sample) int { return len(s.Inputs[0]) / (model.Size(fg.Inputs[0].Shape) / fg.Inputs[0].Shape[0]) }
	all := 0
	for _, s := range samples {
		all += size(s)
	}
	entries, err := one.perElement()
	if err != nil {
		return nil, err
	}
	n := min(all, judged(one.products(), entries))
	if size(samples[0]) == n {
		return samples[:1], nil // with what the float model makes of it
	}
	g, err := fg.Rebind(map[string]int{batch: n})
	if err != nil {
		return nil, err
	}
	inputs := make([][]float64, len(fg.Inputs))
	for i := range inputs {
		length := model.Size(g.Inputs[i].Shape)
		for k := 0; len(inputs[i]) < length; k++ {
			x := samples[k].Inputs[i]
			inputs[i] = append(inputs[i], x[:min(len(x), length-len(inputs[i]))]...)
		}
	}
	return []Sample{{Graph: g, Inputs: inputs}}, nil
}
