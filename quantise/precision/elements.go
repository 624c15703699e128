package precision

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Where the batch is free, a key is for batches of any size. So the formats depend only on the
// elements of all samples, in their order: neither on how samples are cut into batches nor on the
// size of a run. Look-ups, rows of tables and products are counted for one element of the batch.
// Formats are judged with the first MostSamples elements, one by one, or with many more as one
// batch where that takes little work and memory.
const (
	elementWork    = 1 << 28 // products of numbers that such a batch takes at most
	elementEntries = 1 << 26 // entries of tensors that it has at most
)

// errOneBatch says that a model does not leave its batch free.
var errOneBatch = errors.New("the circuit is for one size of the batch")

// chooseFree is Choose for a model whose batch is free. It returns errOneBatch if the circuit depends
// on the size of the batch.
func chooseFree(
	ctx context.Context, fg *graph.Graph, batch string, samples []Sample, ranges map[string]lower.Range, opts lower.Options,
) (m *lower.Result, c *Choice, err error) {
	defer must.Catch(&err)
	pair, err := lower.Pair(fg)
	if err != nil {
		return nil, nil, errOneBatch
	}
	open := *pair
	open.Rebind = fg.Rebind
	s := &search{ctx: ctx, fg: &open, ranges: ranges, opts: opts, free: true, judged: true}
	defer s.arena.Close()
	first, err := s.make(opts.Formats)
	if err != nil {
		return nil, nil, cmp.Or(ctx.Err(), errOneBatch) // if there is no model for another reason, the search for one size reports that
	}
	s.runs-- // nothing was run
	s.samples = elements(fg, batch, samples, first)
	m, c, err = s.choose()
	must.OK(err)
	if m, err = m.At(model.Instance{Sizes: []int{fg.Inputs[0].Shape[0]}}); err != nil {
		return nil, nil, errOneBatch // the run is beyond the circuit's bound
	}
	return m, c, nil
}

// judged is the number of elements that formats are judged with, if each element takes so many products
// and has so many entries: up to MostSamples, or more if these are little work and memory.
func judged(products float64, entries int) int {
	return max(1, min(MostSamples, int(sampleWork/products)), min(int(elementWork/products), elementEntries/entries))
}

// perElement is the number of entries that each element of a batch adds to the tensors of a circuit, at
// least 1. m is the model for a batch of one.
func perElement(m *lower.Result) int {
	two := must.Get(m.Circuit.At(model.Instance{Sizes: []int{2}}))
	n := 0
	for i := range m.Circuit.Graph.Tensors { // without the multiplicities, which instances have besides
		n += model.Size(two.Tensors[i].Shape) - model.Size(m.Graph.Tensors[i].Shape)
	}
	return max(n, 1)
}

// elements returns the samples that formats are judged with: the first elements of the given samples,
// one by one if they are at most MostSamples, otherwise as one batch. How many they are depends on
// the model for a batch of one (judged).
func elements(fg *graph.Graph, batch string, samples []Sample, one *lower.Result) []Sample {
	length := func(i int) int { return model.Size(fg.Inputs[i].Shape) / fg.Inputs[i].Shape[0] }
	all := 0
	for _, s := range samples {
		all += len(s.Inputs[0]) / length(0)
	}
	n := min(all, judged(products(one), perElement(one)))
	size := 1
	if n > MostSamples {
		size = n
	}
	if len(samples) >= n/size && !slices.ContainsFunc(samples[:n/size], func(s Sample) bool { return len(s.Inputs[0]) != size*length(0) }) {
		return slices.Clone(samples[:n/size]) // they need not be cut, and keep their float runs
	}
	g, err := fg.Rebind(map[string]int{batch: size})
	if err != nil {
		must.OK(errOneBatch) // the model has no batch of that size, as one that reads the second element has none of one
	}
	cut := slices.Repeat([]Sample{{Graph: g}}, n/size)
	for i := range fg.Inputs {
		var numbers []float64 // of the samples, end to end, as far as they are needed
		for _, s := range samples {
			if len(numbers) < n*length(i) {
				numbers = append(numbers, s.Inputs[i]...)
			}
		}
		for k := range cut {
			cut[k].Inputs = append(cut[k].Inputs, numbers[k*size*length(i):][:size*length(i)])
		}
	}
	return cut
}
