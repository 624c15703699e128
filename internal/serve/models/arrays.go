package models

import (
	"context"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/vocabulary"
)

// Input matches arrays with the model's inputs by name. If the size of the batch is free, the arrays may hold a batch
// of any size.
func (m *Model) Input(arrays provemodel.Arrays) (provemodel.Input, error) {
	in, err := m.job.Model.Input(arrays)
	if err == nil || m.job.IsText() || len(m.committed.Circuit().Free()) == 0 {
		return in, err
	}
	samples, failed := m.job.Model.Samples(arrays)
	if failed != nil {
		return nil, err
	}
	batch := slices.Clone(samples[0])
	for _, s := range samples[1:] {
		for i := range batch {
			batch[i] = slices.Concat(batch[i], s[i])
		}
	}
	return batch, nil
}

// TextInput returns the input of a sentence encoder for the tokens of a text, and the arrays that it is made of.
func (m *Model) TextInput(ids []int) (provemodel.Arrays, provemodel.Input, error) {
	values := seq.Map(ids, func(id int) float64 { return float64(id) })
	arrays := provemodel.Arrays{{Name: families.IDs, Shape: []int{1, len(ids)}, Values: values}}
	in, err := m.Input(arrays)
	return arrays, in, err
}

// Run returns the outputs of the quantised model on an input.
func (m *Model) Run(ctx context.Context, in provemodel.Input) (_ []provemodel.Tensor, err error) {
	defer must.Catch(&err)
	r := must.Get(m.committed.Circuit().Run(ctx, in))
	statement.Name(r.Outputs, m.words)
	return r.Outputs, nil
}

// Vocabulary returns the model's vocabulary, which maps strings to numbers; nil if the model has no strings.
// VocabularyFile returns its file.
func (m *Model) Vocabulary() *vocabulary.Vocabulary { return m.words }
func (m *Model) VocabularyFile() []byte             { return m.committed.VocabularyFile() }
